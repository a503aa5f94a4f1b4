#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/any_plan.h"
#include "tests/support/edged_models.h"
#include "tests/support/plain_decode.h"
#include "tests/support/sanitized.h"

// Padding outside the picture. Compares decodes with plain loops over whole tensors, and tiled decodes with
// untiled ones.
namespace headroom {
namespace {

using test::request_for;

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
        (step.kind == OpKind::gather ? gathered : made_by_others) += 1;
      }
    }
  }
};

TEST_CASE("edges: any plan gives the untiled pixels, and these are those of plain loops") {
  Drawn drawn;
  int pictures = 0;
  const test::Scratch scratch;
  for (uint64_t seed = 0; seed < 120; seed += test::kSeedStep) {
    const test::DecodeStyle style{.most_frames = 4, .most_batch = 1};
    test::DrawnDecode decode = test::draw_decode(seed, style, test::random_edged_model);
    const Extent& latent = decode.latent_extent;
    CAPTURE(seed, test::edges_of(decode.model.graph), latent.t, latent.y, latent.x);
    pictures += decode.drawn.model.decodes_clips && !decode.model.decodes_clips ? 1 : 0;
    drawn.count(decode.plan);
    const test::TiledAndUntiled both = test::decode_both(decode, scratch);
    CHECK(test::relative_error(both.tiled.picture, both.untiled) <= test::kExact);
    const Array plain =
        test::plain_decode(decode.drawn.model, latent, seed, decode.latent, both.untiled.shape);
    CHECK(test::relative_error(both.untiled, plain) <= test::kExact);
  }
  CHECK(test::often(drawn.edges, 100));
  CHECK(test::often(drawn.reflected, 30));
  CHECK(test::often(drawn.columns, 30));
  CHECK(test::often(drawn.chunks, 10));
  CHECK(test::often(drawn.winograd, 20));
  CHECK(test::often(drawn.gathered, 20));
  CHECK(test::often(drawn.made_by_others, 20));
  CHECK(test::often(pictures, 3));
}

/// A model with a single convolution of the latent.
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
      const Array plain = test::plain_decode(model, latent, 3, input, found.shape);
      CHECK(test::relative_error(found, plain) <= test::kExact);
    }
  }
}

}  // namespace
}  // namespace headroom
