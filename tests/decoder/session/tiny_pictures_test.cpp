#include "tests/support/tiny_pictures.h"

#include <catch2/catch.hpp>

#include "tests/support/any_plan.h"

namespace headroom {
namespace {

using test::Random;

TEST_CASE(
    "any plan of an AutoencoderTiny gives the pixels of its untiled decode, within its predicted peak") {
  test::DrawnPlans seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed + 5000);
    const nlohmann::json config = test::random_autoencoder_tiny_config(random);
    test::check_any_plan(config, seed, random, seen);
  }
  CHECK(seen.cut > 10);
  CHECK(seen.went_on > 10);
  CHECK(seen.below > 5);
  CHECK(seen.columns > 10);
}

TEST_CASE(
    "any plan of an AutoencoderKLHunyuanImage gives the pixels of its untiled decode, within its peak") {
  test::DrawnPlans seen;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed + 6000);
    const nlohmann::json config = test::random_hunyuan_image_config(random);
    test::check_any_plan(config, seed, random, seen);
  }
  CHECK(seen.below > 3);
  CHECK(seen.columns > 10);
}

/// Residual blocks behind barriers, so that their activated sums can take over a kept operand.
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

TEST_CASE("in 16 bits what these decoders keep changes no bit, and fp32 is near") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed + 7000);
    const nlohmann::json config = random.chance(0.7) ? test::random_autoencoder_tiny_config(random)
                                                     : test::random_hunyuan_image_config(random);
    test::check_any_plan_in_16_bits(config, seed, random, 0.2, 0.05);
  }
}

}  // namespace
}  // namespace headroom
