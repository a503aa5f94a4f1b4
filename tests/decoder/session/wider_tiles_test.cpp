#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "tests/support/decoding.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"
#include "tests/support/tiny_video.h"

namespace headroom {
namespace {

using test::Random;

/// Widens the copies that attention and sums read, as a plan of another maker may: more than they need.
int widen_copies(Plan& plan, int32_t by) {
  int widened = 0;
  for (Pass& pass : plan.passes) {
    for (const Step& reader : pass.steps) {
      if (reader.kind != StepKind::attention && reader.kind != StepKind::add) continue;
      const Operand& first = reader.inputs[0];
      if (first.step < 0) continue;
      Step& maker = pass.steps[static_cast<size_t>(first.step)];
      const bool reads_kept = maker.kind == StepKind::gather && maker.inputs[0].step == -1;
      if (!reads_kept) continue;
      maker.halo.before.y += by;
      maker.halo.after.x += by;
      ++widened;
    }
    pass.predicted_peak_bytes = int64_t{1} << 40;
  }
  plan.predicted_peak_bytes = int64_t{1} << 40;
  plan.limit_bytes = std::numeric_limits<int64_t>::max();
  return widened;
}

TEST_CASE("tiles that are wider than their readers need change nothing") {
  int widened = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed + 9000);
    const nlohmann::json config = seed % 2 == 0 ? test::tiny_config() : test::random_causal_config(random);
    const Model model = test::model_of(config);
    const Extent latent{seed % 2 == 0 ? 1 : random.integer(1, 3), random.integer(4, 7), random.integer(4, 7)};
    const Request request = test::request_for(model, latent);
    test::RandomStyle style;
    style.keep = 0.9;
    style.in_place = 0;
    style.untiled_rows = 0;
    const MemoryModel memory = planner::CostModel(model.graph).memory();
    Plan plan = test::random_plan(model, request, 1, style, memory, random).plan;
    widened += widen_copies(plan, 2);
    CAPTURE(seed, config.dump());
    const std::vector<Violation> violations = validate(plan, model);
    const std::string violation = violations.empty() ? "" : violations[0].place + ": " + violations[0].what;
    CAPTURE(violation);
    REQUIRE(violations.empty());
    const Array input = test::latent_for(model, request, seed);
    const auto source = test::random_source(seed);
    const Array wide = test::decode_to_memory(model, plan, source, input).picture;
    const Array untiled = test::decode_to_memory(model, untiled_plan(model, request), source, input).picture;
    CHECK(test::relative_error(wide, untiled) <= 1e-5);
  }
  CHECK(widened > 20);
}

}  // namespace
}  // namespace headroom
