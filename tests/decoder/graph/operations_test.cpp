#include "decoder/graph/operations.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace headroom {
namespace {

TEST_CASE("operations: steps are named in files as before, and after what they carry out",
          "[unit][operations]") {
  std::vector<std::string> names;
  for (StepKind kind : kAllSteps) names.push_back(name_of(kind));
  CHECK(names == std::vector<std::string>{"gather", "norm", "upsample", "conv", "add", "attention",
                                          "interpolate", "unfold_frames", "rms_norm", "gate",
                                          "depth_to_space", "linear_attention", "activate", "statistics",
                                          "key_value_sums", "store", "accumulate", "emit"});
  for (int kind = 0; kind <= static_cast<int>(OpKind::activate); ++kind) {
    const OperationTraits& traits = traits_of(OpKind{kind});
    CHECK(traits.kind == OpKind{kind});
    CHECK(std::string(name_of(traits.step)) == traits.name);
    CHECK(makes_tile(traits.step) != traits.makes_statistics);
    CHECK(takes_statistics(traits.step) == traits.makes_statistics);
    CHECK(rounds(traits.step) == traits.rounds);
  }
  CHECK(std::string(name_of(StepKind{77})) == "?");
}

TEST_CASE("operations: steps that write whole tensors make no tile", "[unit][operations]") {
  for (StepKind kind : {StepKind::store, StepKind::accumulate, StepKind::emit}) {
    CHECK_FALSE(makes_tile(kind));
    CHECK_FALSE(takes_statistics(kind));
  }
  CHECK(makes_tile(StepKind::gather));
  CHECK_FALSE(rounds(StepKind::gather));
}

}  // namespace
}  // namespace headroom
