#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>
#include <vector>

#include "decoder/interpreter/events.h"
#include "decoder/schedule/blocks.h"
#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "planner/search/make_plan.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/decoding.h"
#include "tests/support/picture.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

/// Shares reported for each step on each tile, in order.
class ToldParts final : public EventSink {
 public:
  using Where = std::tuple<int32_t, int64_t, int32_t>;  ///< pass, tile, step

  void step_part_done(const Plan& plan, const StepPart& part) override {
    const Pass& pass = plan.passes[static_cast<size_t>(part.pass)];
    shares[pass.steps[static_cast<size_t>(part.step)].kind][{part.pass, part.tile, part.step}].push_back(
        part.share);
  }
  std::map<OpKind, std::map<Where, std::vector<double>>> shares;
};

/// Requires that the reported shares of each step of this kind rise and end with 1. Returns the largest
/// number of reports for one step.
size_t most_told(const ToldParts& told, OpKind kind) {
  size_t most = 0;
  REQUIRE(told.shares.contains(kind));
  for (const auto& [where, shares] : told.shares.at(kind)) {
    CHECK(shares.front() > 0);
    CHECK(std::is_sorted(shares.begin(), shares.end()));
    CHECK(shares.back() == 1);
    most = std::max(most, shares.size());
  }
  return most;
}

/// An attention with so many channels that keys and values dominate the decode's memory.
Model attending_model(int64_t channels) {
  Model model;
  model.name = "attending";
  model.class_name = "AutoencoderKLHunyuanVideo";
  model.latent_channels = 4;
  model.decodes_clips = true;
  Graph& graph = model.graph;
  const TensorId latent = graph.add_latent(4);
  const TensorId q = graph.conv("q", latent, channels, {1, 1, 1}),
                 k = graph.conv("k", latent, channels, {1, 1, 1}),
                 v = graph.conv("v", latent, channels, {1, 1, 1});
  graph.set_output(
      graph.conv("out", graph.attention("attention", q, k, v, AttentionFrames::each), 3, {1, 1, 1}));
  return model;
}

TEST_CASE("keys and values that are larger than the limit come from the scratch file block by block") {
  const Model model = attending_model(512);
  const Graph& graph = model.graph;
  const Request request = test::request_for(model, {8, 32, 64});
  const planner::CostModel costs(graph);
  const test::Scratch scratch;
  planner::PlanOptions options{.limit_bytes = int64_t{44} << 20};
  CHECK_FALSE(planner::make_plan({model, request, options, costs}));
  options.scratch_limit_bytes = int64_t{1} << 30;
  options.scratch_folder = scratch.folder();
  const Plan plan = planner::make_plan({model, request, options, costs}).value();
  REQUIRE(validate(plan, model).empty());
  REQUIRE(test::staged_attentions(plan) == 1);
  int64_t whole_bytes = 0;
  for (const KeptTensor& entry : plan.kept) whole_bytes += kept_bytes(graph, entry, sizes_of(graph, plan));
  CHECK(whole_bytes > plan.limit_bytes);

  const Array input = test::latent_for(model, request, 3);
  ToldParts told;
  const test::Decoded staged = test::decode_to_memory(model, plan, test::random_source(3), input, &told);
  // Attention reports progress after each block of keys.
  CHECK(most_told(told, OpKind::attention) > 8);
  const Array untiled =
      test::decode_to_memory(model, untiled_plan(model, request), test::random_source(3), input).picture;
  CHECK(test::relative_error(staged.picture, untiled) <= test::kExact);
  CHECK(staged.stats.pool_peak_bytes + plan.reserve_bytes <= plan.predicted_peak_bytes);
}

TEST_CASE("step parts: attention and convolutions tell how far they are, up to their end") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = test::request_for(model, {1, 48, 48}, 2);
  const Plan plan = untiled_plan(model, request);
  ToldParts told;
  const Array latent = test::latent_for(model, request, 1);
  const Array reported = test::decode_to_memory(model, plan, test::random_source(1), latent, &told).picture;
  CHECK(most_told(told, OpKind::attention) > 8);
  CHECK(most_told(told, OpKind::conv) > 1);
  CHECK(reported.values ==
        test::decode_to_memory(model, plan, test::random_source(1), latent).picture.values);
}

}  // namespace
}  // namespace headroom
