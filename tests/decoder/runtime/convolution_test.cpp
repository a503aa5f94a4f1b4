#include "decoder/runtime/convolution.h"

#include <ATen/ops/convolution.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/upsample_nearest2d.h>

#include <catch2/catch.hpp>
#include <vector>

#include "decoder/plan/memory.h"
#include "decoder/runtime/decode.h"
#include "decoder/runtime/kept_map.h"
#include "decoder/runtime/pool.h"
#include "decoder/runtime/pool_allocator.h"
#include "decoder/runtime/tile.h"
#include "decoder/runtime/weights.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using test::Random;

at::Tensor random_tensor(Random& random, at::IntArrayRef shape) {
  at::Tensor tensor = at::empty(shape, at::kFloat);
  float* values = tensor.data_ptr<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) values[i] = static_cast<float>(random.uniform(-1, 1));
  return tensor;
}

/// One convolution as a graph, with its parameters.
struct Case {
  Graph graph;
  OpId op{0};
  at::Tensor weight, bias;
  ParameterSource source;

  Case(Random& random, int64_t inputs, int64_t outputs, int32_t kernel, bool upsamples) {
    const TensorId latent = graph.add_latent(inputs);
    graph.set_output(upsamples ? graph.upsampled_conv("conv", latent, outputs)
                               : graph.conv("conv", latent, outputs, {1, kernel, kernel}));
    weight = random_tensor(random, {outputs, inputs, kernel, kernel});
    bias = random_tensor(random, {outputs});
    source = [this](const Parameter& parameter, const Interval& elements, float* out) {
      const at::Tensor& from = parameter.name == "conv.weight" ? weight : bias;
      std::copy_n(from.const_data_ptr<float>() + elements.begin, elements.length(), out);
    };
  }

  /// The whole convolution in double, channels last.
  at::Tensor whole(const at::Tensor& picture) const {
    at::Tensor x = picture.to(at::kDouble).permute({0, 3, 1, 2});
    const Op& conv = graph.op(op);
    if (conv.factor.y > 1) x = at::upsample_nearest2d(x, {x.size(2) * 2, x.size(3) * 2});
    const int64_t half = conv.kernel.y / 2;
    return at::convolution(x, weight.to(at::kDouble), bias.to(at::kDouble), {1, 1}, {half, half}, {1, 1},
                           false, {0, 0}, 1)
        .permute({0, 2, 3, 1})
        .contiguous();
  }
};

/// Largest error over the largest value of any region, by tiles that hold their halo, in both forms and from
/// both ways of loading.
TEST_CASE("a region of a convolution equals that of the whole, in both forms") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{60}));
  Random random(seed);
  const int32_t kernel = random.pick<int32_t>({1, 3, 3, 3, 5});
  const bool upsamples = kernel == 3 && random.chance(0.5);
  const int64_t inputs = random.pick<int64_t>({1, 3, 16, 20, 64, 130}),
                outputs = random.pick<int64_t>({1, 3, 16, 40, 128, 150});
  const int64_t items = random.integer(1, 2), height = random.integer(1, 21), width = random.integer(1, 21);
  const int threads = static_cast<int>(random.integer(1, 4));
  const bool into_blocks = random.chance(0.3);
  CAPTURE(seed, kernel, upsamples, inputs, outputs, items, height, width, threads, into_blocks);
  start_libraries(threads);
  Pool pool(int64_t{256} << 20);
  {
    const PoolScope scope(pool);
    const Case conv(random, inputs, outputs, kernel, upsamples);
    const Op& op = conv.graph.op(conv.op);
    const at::Tensor picture = random_tensor(random, {items, height, width, inputs});
    const at::Tensor expected = conv.whole(picture);
    const int64_t scale = upsamples ? 2 : 1;
    const auto part = [&](int64_t length) {
      const int64_t begin = random.integer(0, length - 1);
      return Interval{begin, random.integer(begin + 1, length)};
    };
    const Region region{{0, 1}, part(height * scale), part(width * scale)};
    Region needed = needed_region(conv.graph, op, 0, region);
    if (random.chance(0.3)) needed.y.begin -= 1;
    CAPTURE(region.y.begin, region.y.end, region.x.begin, region.x.end);
    Tile input = make_tile(needed, inputs, items);
    MapView whole_picture{.region = whole({1, height, width}),
                          .channels = inputs,
                          .block_rows = height,
                          .blocks_per_item = 1,
                          .blocks = {}};
    for (int64_t item = 0; item < items; ++item)
      whole_picture.blocks.push_back(picture.data_ptr<float>() + item * height * width * inputs);
    gather(whole_picture, input.view(), {1, height, width}, items);

    const Weights direct(conv.graph, {conv.op}, ConvolutionForm::direct, conv.source);
    const Weights loaded(conv.graph, {conv.op}, ConvolutionForm::winograd, conv.source);
    const Weights transformed(conv.graph, {conv.op}, direct);
    for (const Weights* weights : {&direct, &loaded, &transformed}) {
      Tile tile = make_tile(region, outputs, items);
      KeptMap map(Kept{.block_rows = 3}, {1, height * scale, width * scale}, outputs, items, Dtype::fp32);
      if (into_blocks) map.acquire({0, map.blocks_per_item()});
      const MapView target = into_blocks ? map.view() : tile.view();
      for (int64_t item = 0; item < items; ++item) {
        for (int64_t y = region.y.begin; y < region.y.end; ++y)
          std::fill_n(target.at(item, y, region.x.begin), region.x.length() * outputs, 0.25f);
      }
      const OpWeights& own = weights->of(conv.op);
      const int64_t before = pool.live_bytes();
      pool.start_window();
      convolve(input.view(), own.kernel, own.bias, target, region, items);
      CHECK(pool.window_peak_bytes() - before <=
            allocated_bytes(convolution_workspace_bytes(own.kernel.shape, own.kernel.form, extent_of(region),
                                                        items, threads + random.integer(0, 3))));
      double worst = 0, largest = 1;
      for (int64_t item = 0; item < items; ++item) {
        for (int64_t y = region.y.begin; y < region.y.end; ++y) {
          const double* truth = expected.const_data_ptr<double>() +
                                ((item * height * scale + y) * width * scale + region.x.begin) * outputs;
          const float* found = target.at(item, y, region.x.begin);
          for (int64_t i = 0; i < region.x.length() * outputs; ++i) {
            worst = std::max(worst, std::abs(double(found[i]) - truth[i]));
            largest = std::max(largest, std::abs(truth[i]));
          }
        }
      }
      CHECK(worst <= 5e-6 * largest);
    }
  }
  start_libraries(2);
}

}  // namespace
}  // namespace headroom
