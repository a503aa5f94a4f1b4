#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "decoder/base/errors.h"
#include "decoder/operations/operation.h"
#include "decoder/validator/validator.h"
#include "tests/decoder/files/scratch.h"
#include "tests/support/causal_attention.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

namespace headroom {
namespace {

using test::Random;
using test::request_for;
using test::unlimited;

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
  entry("decoder.conv_in").tier = MemoryTier::scratch;
  plan.scratch_limit_bytes = 1;
  refused({"scratch folder", "limit is 1 bytes"});
  plan.scratch_folder = "/dev/shm";
  refused({"/dev/shm", "is in memory"});
  plan.scratch_folder = "";
  refused({"scratch folder", "none given"});
}

TEST_CASE("keys in another tier than their values are refused") {
  const Model model = test::causal_attention_model(4, false);
  const Request request = request_for(model, {2, 4, 4});
  const test::Scratch scratch;
  Plan plan = untiled_plan(model, request);
  plan.scratch_folder = scratch.folder();
  plan.scratch_limit_bytes = int64_t{1} << 30;
  for (KeptTensor& kept : plan.kept) {
    if (model.graph.tensor(kept.tensor).name == "mid.k") kept.tier = MemoryTier::scratch;
  }
  test::MemorySink sink(test::picture_shape(model, request));
  test::require_input_error(
      [&] {
        decode(model, plan, test::random_source(1), test::latent_for(model, request, 7), sink, nullptr);
      },
      {"mid.k is kept in scratch", "attention mid.attention needs its keys and values in the same tier"});
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

TEST_CASE("what is not finite, or overflows in fp16, stops the decode and names the layer") {
  const auto [dtype, factor] =
      GENERATE(table<Dtype, float>({{Dtype::fp32, std::nanf("")}, {Dtype::fp16, 1e6f}}));
  const Model model = test::model_of(test::tiny_config());
  const Request request = request_for(model, {1, 4, 4}, 1, dtype);
  const auto source = [factor = factor](const Parameter& parameter, const Interval& elements, float* out) {
    fill_random(parameter, 1, elements, out);
    if (parameter.name != "decoder.up_blocks.0.resnets.0.conv1.weight") return;
    for (int64_t i = 0; i < elements.length(); ++i) out[i] *= factor;
  };
  test::MemorySink sink(test::picture_shape(model, request));
  start_libraries(2);
  CHECK_THROWS_WITH(
      decode(model, untiled_plan(model, request), source, test::latent_for(model, request, 6), sink, nullptr),
      Catch::Contains("decoder.up_blocks.0.resnets.0.conv1") && Catch::Contains("not finite"));
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

/// Residual blocks behind barriers. Their activated sums can overwrite a kept operand.
Model activated_sums(int64_t blocks) {
  Model model;
  Graph& graph = model.graph;
  model.class_name = "none";
  model.latent_channels = 4;
  TensorId x = graph.activate("clamp", graph.add_latent(4), Activation::soft_clamp);
  x = graph.conv("in", x, 6, {1, 3, 3});
  const auto normed_conv = [&](const std::string& name, TensorId from) {
    const TensorId statistics = graph.statistics(name + ".statistics", from, 2, 1e-6);
    return graph.conv(name, graph.norm(name + ".norm", from, statistics, Activation::silu), 6, {1, 3, 3});
  };
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string name = "block" + std::to_string(i);
    const TensorId h = normed_conv(name + ".conv2", normed_conv(name + ".conv1", x));
    x = graph.add(name, h, x, i % 2 == 0 ? Activation::relu : Activation::soft_clamp);
  }
  graph.set_output(graph.conv("out", x, 3, {1, 1, 1}, {.scale = 2, .shift = -1}));
  return model;
}

TEST_CASE("sums that are added onto a kept tensor are activated as those of tiles are") {
  int in_place = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    Random random(seed + 8000);
    const Model model = activated_sums(3);
    const Dtype dtype = random.pick<Dtype>({Dtype::fp32, Dtype::bf16});
    CAPTURE(seed, name_of(dtype));
    const Request request = test::request_for(model, {1, 7, 6}, 2, dtype);
    const Array input = test::latent_for(model, request, seed);
    const Array untiled =
        test::decode_to_memory(model, untiled_plan(model, request), test::random_source(seed), input).picture;
    for (const double share : {0.0, 1.0}) {
      test::RandomStyle style;
      style.form = ConvolutionAlgorithm::direct;
      style.keep = 1;
      style.in_place = share;
      Plan plan = test::random_plan(model, request, 1, style, {}, random, test::norms_of(model.graph)).plan;
      plan.limit_bytes = plan.predicted_peak_bytes;
      REQUIRE(validate(plan, model).empty());
      for (const KeptTensor& entry : plan.kept) in_place += entry.in_place_of != TensorId{-1} ? 1 : 0;
      const Array tiled = test::decode_to_memory(model, plan, test::random_source(seed), input).picture;
      CHECK(test::relative_error(tiled, untiled) <= (dtype == Dtype::fp32 ? test::kExact : 0.02));
    }
  }
  CHECK(in_place > 10);
}

}  // namespace
}  // namespace headroom
