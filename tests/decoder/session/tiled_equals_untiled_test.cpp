#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/graph/errors.h"
#include "decoder/graph/parameters.h"
#include "decoder/lowering/memory.h"
#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/picture.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using test::norms_of;
using test::Random;
using test::request_for;
using test::unlimited;

/// Which of the ways to decode were taken.
struct Coverage {
  int in_place = 0, columns = 0, one_row = 0, in_micro_batches = 0, together = 0, dropped_all = 0,
      attention = 0;

  void count(const Plan& plan, const Model& model) {
    for (const KeptTensor& entry : plan.kept) in_place += entry.in_place_of != TensorId{-1} ? 1 : 0;
    for (const Pass& pass : plan.passes) {
      columns += pass.tiles.x.size() > 1 ? 1 : 0;
      one_row += pass.tiles.y.size() > 1 && pass.tiles.y.front().length() == 1 ? 1 : 0;
    }
    (plan.micro_batch < plan.request.batch ? in_micro_batches : together) += plan.request.batch > 1 ? 1 : 0;
    dropped_all += plan.kept.size() <= 2 ? 1 : 0;
    attention += model.graph.find_op("decoder.mid_block.attentions.0.attention") != OpId{-1} ? 1 : 0;
  }
};

TEST_CASE("any plan gives the pixels of the untiled decode") {
  Coverage coverage;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const nlohmann::json config = test::random_config(random);
    const Extent latent{1, random.integer(1, 11), random.integer(1, 11)};
    const int64_t batch = random.integer(1, 3), micro_batch = random.integer(1, batch);
    CAPTURE(seed, config.dump(), latent.y, latent.x, batch, micro_batch);
    const Model model = test::model_of(config);
    const Request request = request_for(model, latent, batch);
    test::RandomStyle style;
    style.keep = random.pick<double>({0, 0.3, 0.6, 0.9, 1});
    style.most_tiles = style.keep < 0.5 ? 10 : 24;  // each tile repeats what is not kept
    MemoryModel memory;
    memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
    const Plan plan = unlimited(test::random_plan(model, request, micro_batch, style, memory, random).plan);
    REQUIRE(validate(plan, model).empty());
    coverage.count(plan, model);
    const Array input = test::latent_for(model, request, seed);
    const Array tiled = test::decode_to_memory(model, plan, test::random_source(seed), input).picture;
    const Array untiled =
        test::decode_to_memory(model, untiled_plan(model, request), test::random_source(seed), input).picture;
    CHECK(test::relative_error(tiled, untiled) <= test::kExact);
  }
  // The draws reached what they are meant to reach.
  CHECK(coverage.in_place > 10);
  CHECK(coverage.columns > 10);
  CHECK(coverage.one_row > 10);
  CHECK(coverage.in_micro_batches > 3);
  CHECK(coverage.together > 3);
  CHECK(coverage.dropped_all > 3);
  CHECK(coverage.attention > 10);
}

TEST_CASE(
    "plans with tensors in a scratch file and weights per pass give what they give without, within their "
    "peak") {
  const test::Scratch scratch;
  int moved = 0, small = 0, wide = 0, in_micro_batches = 0, columns = 0, read_twice = 0, bands = 0,
      same_order = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed + 1000);
    const nlohmann::json config = test::random_config(random);
    const Extent latent{1, random.integer(1, 14), random.integer(1, 11)};
    const int64_t batch = random.integer(1, 3), micro_batch = random.integer(1, batch);
    CAPTURE(seed, config.dump(), latent.y, latent.x, batch, micro_batch);
    const Model model = test::model_of(config);
    const Request request = request_for(model, latent, batch);
    test::RandomStyle style;
    style.keep = random.pick<double>({0.6, 0.9, 1});
    style.most_tiles = 16;
    style.below = random.pick<double>({0.4, 1});
    const PlanConfiguration configuration{
        micro_batch, random.chance(0.7) ? WeightResidency::per_pass : WeightResidency::resident,
        MemoryTier::scratch};
    const planner::CostModel costs(model.graph);
    MemoryModel memory = costs.memory();
    memory.block_bytes = random.pick<int64_t>({700, 17'000, 40'000});
    const test::RandomPlan drawn =
        test::random_plan(model, request, micro_batch, style, memory, random, {}, configuration);
    std::vector<PassDecision> above = drawn.decisions;
    for (PassDecision& decision : above) decision.below.clear();
    const Plan on_device = unlimited(build_plan(model, request, {.micro_batch = micro_batch}, above, memory));
    Plan plan = drawn.plan;
    const bool in_file = test::limit_to_prediction(model.graph, scratch, plan);
    REQUIRE(validate(plan, model).empty());
    const Array input = test::latent_for(model, request, seed);
    const test::Decoded below = test::decode_to_memory(model, plan, test::random_source(seed), input);
    const Array reference =
        test::decode_to_memory(model, on_device, test::random_source(seed), input).picture;
    // Keys that come block by block are summed in another order.
    if (test::staged_attentions(plan) == 0) {
      ++same_order;
      CHECK(below.picture.values == reference.values);
    } else {
      CHECK(test::relative_error(below.picture, reference) <= test::kExact);
    }
    CHECK(below.stats.pool_peak_bytes + plan.reserve_bytes <= plan.predicted_peak_bytes);
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      CAPTURE(i, plan.passes[i].name);
      CHECK(below.stats.passes[i].peak_bytes + plan.reserve_bytes <= plan.passes[i].predicted_peak_bytes);
    }
    CHECK((below.stats.scratch_written_bytes > 0) == in_file);
    // Keys that come block by block are read without what pads their blocks.
    if (test::staged_attentions(plan) == 0)
      CHECK(below.stats.scratch_read_bytes >= below.stats.scratch_written_bytes);
    moved += in_file ? 1 : 0;
    small += in_file && memory.block_bytes < 16'384 ? 1 : 0;
    wide += in_file && memory.block_bytes >= 16'384 ? 1 : 0;
    in_micro_batches += in_file && micro_batch < batch ? 1 : 0;
    read_twice += below.stats.scratch_read_bytes > below.stats.scratch_written_bytes ? 1 : 0;
    for (const KeptTensor& entry : plan.kept) {
      if (entry.tier == MemoryTier::device) continue;
      columns += plan.passes[static_cast<size_t>(entry.first_pass)].tiles.x.size() > 1 ? 1 : 0;
      bands += plan.passes[static_cast<size_t>(entry.last_pass)].tiles.y.size() > 3 ? 1 : 0;
    }
    CHECK(scratch.files().empty());
  }
  CHECK(moved > 20);
  CHECK(same_order > 8);
  CHECK(small > 3);
  CHECK(wide > 5);
  CHECK(in_micro_batches > 3);
  CHECK(read_twice > 3);
  CHECK(columns > 5);
  CHECK(bands > 10);
}

TEST_CASE("tensors below the device that the runtime cannot serve there are refused") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 6, 6});
  const Array input = test::latent_for(model, request, 7);
  const test::Scratch scratch;
  Plan plan = untiled_plan(model, request);
  plan.scratch_folder = scratch.folder();
  plan.scratch_limit_bytes = int64_t{1} << 30;
  const auto refused = [&](const std::vector<std::string>& parts) {
    test::MemorySink sink(test::picture_shape(model, request));
    test::require_input_error([&] { decode(model, plan, test::random_source(1), input, sink, nullptr); },
                              parts);
  };
  const auto entry = [&](const std::string& name) -> KeptTensor& {
    return *std::find_if(plan.kept.begin(), plan.kept.end(), [&](const KeptTensor& kept) {
      return model.graph.tensor(kept.tensor).name == name;
    });
  };
  const Plan good = plan;
  entry("decoder.conv_in").tier = MemoryTier::host;
  refused({"decoder.conv_in is kept in host", "on the CPU the device's memory is the host's"});
  plan = good;
  entry("decoder.mid_block.attentions.0.to_k").tier = MemoryTier::scratch;
  refused({"decoder.mid_block.attentions.0.to_k is kept in scratch", "attention"});
  plan = good;
  entry("decoder.conv_in").tier = MemoryTier::scratch;
  plan.scratch_limit_bytes = 1;
  refused({"scratch folder", "limit is 1 bytes"});
  plan.scratch_folder = "/dev/shm";
  refused({"/dev/shm", "is in memory"});
  plan.scratch_folder = "";
  refused({"scratch folder", "none given"});
}

TEST_CASE("items of a batch do not see one another") {
  const Model model = test::model_of(test::tiny_config());
  const Request three = request_for(model, {1, 6, 5}, 3), one = request_for(model, {1, 6, 5}, 1);
  const Array latents = test::latent_for(model, three, 3);
  const Array together =
      test::decode_to_memory(model, untiled_plan(model, three), test::random_source(1), latents).picture;
  const size_t latent_values = latents.values.size() / 3, values = together.values.size() / 3;
  for (size_t item = 0; item < 3; ++item) {
    CAPTURE(item);
    const auto begin = latents.values.begin() + static_cast<std::ptrdiff_t>(item * latent_values);
    const Array latent{{1, 4, 6, 5}, {begin, begin + static_cast<std::ptrdiff_t>(latent_values)}};
    const Array alone =
        test::decode_to_memory(model, untiled_plan(model, one), test::random_source(1), latent).picture;
    const auto from = together.values.begin() + static_cast<std::ptrdiff_t>(item * values);
    CHECK(test::relative_error({alone.shape, {from, from + static_cast<std::ptrdiff_t>(values)}}, alone) <=
          test::kExact);
  }
}

TEST_CASE("bands of one row with nothing kept, and with everything kept in place") {
  const Model model = test::model_of(test::tiny_config({8, 16, 8}));
  const Request request = request_for(model, {1, 5, 9});
  const Array input = test::latent_for(model, request, 4);
  const Array untiled =
      test::decode_to_memory(model, untiled_plan(model, request), test::random_source(2), input).picture;
  const auto [keep, in_place] = GENERATE(table<double, double>({{0, 0}, {1, 0}, {1, 1}}));
  const uint64_t seed = 9;
  CAPTURE(keep, in_place, seed);
  Random random(seed);
  test::RandomStyle style;
  style.keep = keep;
  style.in_place = in_place;
  style.late = 0;
  test::RandomPlan drawn = test::random_plan(model, request, 1, style, {}, random);
  for (PassDecision& decision : drawn.decisions) decision.tile = {1, 1, 1000};
  const Plan plan = unlimited(build_plan(model, request, {}, drawn.decisions, {}));
  REQUIRE(validate(plan, model).empty());
  const Array tiled = test::decode_to_memory(model, plan, test::random_source(2), input).picture;
  CHECK(test::relative_error(tiled, untiled) <= test::kExact);
}

TEST_CASE("the same plan gives the same bytes again") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 7, 7});
  const Array input = test::latent_for(model, request, 5);
  const uint64_t seed = 31;
  CAPTURE(seed);
  Random random(seed);
  const Plan plan = unlimited(test::random_plan(model, request, 1, {}, {}, random).plan);
  const Array first = test::decode_to_memory(model, plan, test::random_source(3), input).picture;
  const Array second = test::decode_to_memory(model, plan, test::random_source(3), input).picture;
  CHECK(first.values == second.values);
}

TEST_CASE("in 16 bits what is kept changes no bit, tiles no more than rounding, and fp32 is near") {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed + 500);
    const nlohmann::json config = test::random_config(random);
    const Extent latent{1, random.integer(1, 11), random.integer(1, 11)};
    const int64_t batch = random.integer(1, 2), micro_batch = random.integer(1, batch);
    const Dtype dtype = random.pick<Dtype>({Dtype::bf16, Dtype::fp16});
    CAPTURE(seed, config.dump(), latent.y, latent.x, batch, micro_batch, name_of(dtype));
    const Model model = test::model_of(config);
    const Request request = request_for(model, latent, batch, dtype);
    test::RandomStyle style;
    style.form = ConvolutionAlgorithm::direct;
    style.keep = random.pick<double>({0, 0.5, 1});
    style.most_tiles = 10;
    // Sums in one order in half of the cases: then values before rounding are the same, and so must those
    // after be.
    const bool whole = random.chance(0.5);
    if (whole) style.untiled_rows = style.untiled_columns = 1;
    const MemoryModel memory = planner::CostModel(model.graph).memory();
    Plan plan =
        test::random_plan(model, request, micro_batch, style, memory, random, norms_of(model.graph)).plan;
    plan.limit_bytes = plan.predicted_peak_bytes;
    REQUIRE(validate(plan, model).empty());
    const Array input = test::latent_for(model, request, seed);
    const auto source = test::random_source(seed);
    const Array tiled = test::decode_to_memory(model, plan, source, input).picture;
    const Array untiled = test::decode_to_memory(model, untiled_plan(model, request), source, input).picture;
    const Request full = request_for(model, latent, batch, Dtype::fp32);
    const Array exact = test::decode_to_memory(model, untiled_plan(model, full), source, input).picture;
    const double error = test::relative_error(untiled, exact);
    if (whole) CHECK(tiled.values == untiled.values);
    CHECK(test::relative_error(tiled, exact) <= 2 * error);
    CHECK(error <= (dtype == Dtype::bf16 ? 0.1 : 0.02));
    CHECK(error > 0);
  }
}

TEST_CASE("fp16 that overflows stops the decode and names the layer") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 4, 4}, 1, Dtype::fp16);
  const auto source = [](const Parameter& parameter, const Interval& elements, float* out) {
    fill_random(parameter, 1, elements, out);
    if (parameter.name != "decoder.up_blocks.0.resnets.0.conv1.weight") return;
    for (int64_t i = 0; i < elements.length(); ++i) out[i] *= 1e6f;
  };
  test::MemorySink sink(test::picture_shape(model, request));
  CHECK_THROWS_WITH(
      decode(model, untiled_plan(model, request), source, test::latent_for(model, request, 6), sink, nullptr),
      Catch::Contains("decoder.up_blocks.0.resnets.0.conv1") && Catch::Contains("not finite"));
}

TEST_CASE("what is not finite stops the decode and names the layer") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 4, 4});
  const Array input = test::latent_for(model, request, 6);
  const auto source = [](const Parameter& parameter, const Interval& elements, float* out) {
    fill_random(parameter, 1, elements, out);
    if (parameter.name == "decoder.up_blocks.0.resnets.0.conv1.weight" && elements.begin == 0)
      out[0] = std::nanf("");
  };
  test::MemorySink sink(test::picture_shape(model, request));
  start_libraries(2);
  try {
    decode(model, untiled_plan(model, request), source, input, sink, nullptr);
    FAIL("expected an InputError");
  } catch (const InputError& error) {
    CHECK_THAT(error.what(), Catch::Contains("decoder.up_blocks.0.resnets.0.conv1"));
    CHECK_THAT(error.what(), Catch::Contains("not finite"));
  }
  CHECK_FALSE(sink.complete_called);
}

TEST_CASE("a latent of another shape than planned is refused") {
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 4, 4});
  test::MemorySink sink(test::picture_shape(model, request));
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{1, 4, 4, 5}, {2, 4, 4, 4}, {1, 3, 4, 4}, {1, 4, 2, 4, 4}, {4, 4, 4}}) {
    const Array latent = random_latent(shape, 1);
    CHECK_THROWS_AS(
        decode(model, untiled_plan(model, request), test::random_source(1), latent, sink, nullptr),
        InputError);
  }
}

}  // namespace
}  // namespace headroom
