// What a decode tells of its progress within one step.

#include <catch2/catch.hpp>

#include "decoder/lowering/build_plan.h"
#include "tests/support/decoding.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"
#include "tests/support/told_parts.h"

namespace headroom {
namespace {

TEST_CASE("step parts: attention and convolutions tell how far they are, up to their end") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = test::request_for(model, {1, 48, 48}, 2);
  const Plan plan = untiled_plan(model, request);
  test::ToldParts told;
  const Array latent = test::latent_for(model, request, 1);
  const Array reported = test::decode_to_memory(model, plan, test::random_source(1), latent, &told).picture;
  CHECK(test::most_told(told, StepKind::attention) > 8);
  CHECK(test::most_told(told, StepKind::conv) > 1);
  CHECK(reported.values ==
        test::decode_to_memory(model, plan, test::random_source(1), latent).picture.values);
}

}  // namespace
}  // namespace headroom
