#include <algorithm>
#include <catch2/catch.hpp>

#include "decoder/graph/errors.h"
#include "decoder/validator/validator.h"
#include "planner/cost/cost_model.h"
#include "tests/support/decoding.h"
#include "tests/support/drawn_plans.h"
#include "tests/support/edged_models.h"
#include "tests/support/plain_decode.h"
#include "tests/support/random_plan.h"
#include "tests/support/tiny_model.h"

// What stands outside the picture: decodes against plain loops over whole tensors, and tiles of any size
// against none.
namespace headroom {
namespace {

using test::Random;
using test::request_for;

/// A side of a latent: often so short that a kernel reaches past it on both sides.
int64_t any_side(Random& random) {
  return random.chance(0.4) ? random.integer(1, 3) : random.integer(4, 9);
}

struct Drawn {
  int edges = 0, reflected = 0, columns = 0, chunks = 0, winograd = 0, gathered = 0, made_by_others = 0;

  void count(const Plan& plan) {
    for (const Pass& pass : plan.passes) {
      columns += pass.tiles.x.size() > 1 ? 1 : 0;
      chunks += pass.tiles.t.size() > 1 ? 1 : 0;
      winograd += pass.convolutions.algorithm == ConvolutionAlgorithm::winograd ? 1 : 0;
      for (const Step& step : pass.steps) {
        if (step.edges == Edges::zeros) continue;
        ++edges;
        reflected += step.edges == Edges::reflect ? 1 : 0;
        (step.kind == StepKind::gather ? gathered : made_by_others) += 1;
      }
    }
  }
};

TEST_CASE("edges: any plan gives the untiled pixels, and these are those of plain loops") {
  Drawn drawn;
  int pictures = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    const Model drawn_model = test::random_edged_model(random);
    const int64_t frames = drawn_model.decodes_clips ? random.integer(1, 4) : 1;
    const Model model = random.chance(0.5) ? for_frames(drawn_model, frames) : drawn_model;
    pictures += drawn_model.decodes_clips && !model.decodes_clips ? 1 : 0;
    const Extent latent{frames, any_side(random), any_side(random)};
    CAPTURE(seed, test::edges_of(model.graph), latent.t, latent.y, latent.x);
    const Request request = request_for(model, latent);
    test::RandomStyle style;
    style.keep = random.pick<double>({0, 0.3, 0.7, 1});
    style.most_tiles = 12;
    MemoryModel memory = planner::CostModel(model.graph).memory();
    memory.block_bytes = random.pick<int64_t>({1, 700, int64_t{4} << 20});
    const Plan plan = test::unlimited(test::random_plan(model, request, 1, style, memory, random).plan);
    const std::vector<Violation> violations = validate(plan, model);
    const std::string violation = violations.empty() ? "" : violations[0].place + ": " + violations[0].what;
    CAPTURE(violation);
    REQUIRE(violations.empty());
    drawn.count(plan);
    const Array input = test::latent_for(model, request, seed);
    const auto source = test::random_source(seed);
    const Array tiled = test::decode_to_memory(model, plan, source, input).picture;
    const Array untiled = test::decode_to_memory(model, untiled_plan(model, request), source, input).picture;
    CHECK(test::relative_error(tiled, untiled) <= test::kExact);
    const Array plain = test::PlainDecode(drawn_model, latent, seed).run(input, untiled.shape);
    CHECK(test::relative_error(untiled, plain) <= test::kExact);
  }
  CHECK(drawn.edges > 100);
  CHECK(drawn.reflected > 30);
  CHECK(drawn.columns > 30);
  CHECK(drawn.chunks > 10);
  CHECK(drawn.winograd > 20);
  CHECK(drawn.gathered > 20);
  CHECK(drawn.made_by_others > 20);
  CHECK(pictures > 3);
}

/// A model of one convolution of the latent.
template <typename Add>
Model of_one(const Add& add) {
  Model model;
  model.name = "one";
  model.class_name = "AutoencoderKL";
  model.latent_channels = 16;
  model.graph.set_output(add(model.graph, model.graph.add_latent(16)));
  return model;
}

TEST_CASE("edges: one convolution of any small picture is that of plain loops, by each algorithm") {
  const Edges edges = GENERATE(Edges::zeros, Edges::replicate, Edges::reflect);
  const Axes<int32_t> kernel = GENERATE(Axes<int32_t>{1, 3, 3}, Axes<int32_t>{1, 5, 5},
                                        Axes<int32_t>{1, 1, 7}, Axes<int32_t>{1, 2, 2});
  const bool upsampled = kernel.y == 2;
  const Model model = of_one([&](Graph& graph, TensorId x) {
    const ConvolutionTraits traits{.edges = edges};
    return upsampled ? graph.upsampled_conv("conv", x, 3, traits) : graph.conv("conv", x, 3, kernel, traits);
  });
  for (const Extent& latent : {Extent{1, 1, 1}, {1, 1, 4}, {1, 2, 1}, {1, 2, 2}, {1, 3, 2}, {1, 4, 7}}) {
    for (const ConvolutionAlgorithm form : {ConvolutionAlgorithm::direct, ConvolutionAlgorithm::winograd}) {
      CAPTURE(name_of(edges), kernel.y, kernel.x, latent.y, latent.x, name_of(form));
      const Request request = request_for(model, latent);
      const Plan plan = untiled_plan(model, request, form);
      REQUIRE(validate(plan, model).empty());
      const Array input = test::latent_for(model, request, 3);
      const Array found = test::decode_to_memory(model, plan, test::random_source(3), input).picture;
      const Array plain = test::PlainDecode(model, latent, 3).run(input, found.shape);
      CHECK(test::relative_error(found, plain) <= test::kExact);
    }
  }
}

TEST_CASE("edges: a convolution over upsampling is that of the upsampled tensor") {
  const Edges edges = GENERATE(Edges::zeros, Edges::replicate, Edges::reflect);
  const ConvolutionTraits traits{.edges = edges};
  const Model fused =
      of_one([&](Graph& graph, TensorId x) { return graph.upsampled_conv("conv", x, 3, traits); });
  const Model apart = of_one([&](Graph& graph, TensorId x) {
    return graph.conv("conv", graph.upsample("large", x, {1, 2, 2}), 3, {1, 3, 3}, traits);
  });
  for (int64_t rows = 1; rows <= 4; ++rows) {
    const Request request = request_for(fused, {1, rows, 3});
    CAPTURE(name_of(edges), rows);
    const Array input = test::latent_for(fused, request, 4);
    const auto decoded = [&](const Model& model) {
      return test::decode_to_memory(model, untiled_plan(model, request), test::random_source(4), input)
          .picture;
    };
    CHECK(test::relative_error(decoded(fused), decoded(apart)) <= test::kExact);
  }
}

}  // namespace
}  // namespace headroom
