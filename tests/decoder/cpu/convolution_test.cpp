#include "decoder/cpu/convolution.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/map_steps.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/cpu/tile.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/parameters.h"
#include "decoder/interpreter/kept_map.h"
#include "decoder/lowering/storage.h"
#include "decoder/session/libraries.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

using test::Random;

std::vector<float> random_values(Random& random, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random.uniform(-1, 1));
  return values;
}

/// One convolution as a graph, with its parameters.
struct Case {
  Graph graph;
  OpId op{0};
  std::vector<float> weight, bias;
  ParameterSource source;

  Case(Random& random, int64_t inputs, int64_t outputs, int32_t kernel, bool upsamples) {
    const TensorId latent = graph.add_latent(inputs);
    graph.set_output(upsamples ? graph.upsampled_conv("conv", latent, outputs)
                               : graph.conv("conv", latent, outputs, {1, kernel, kernel}));
    weight = random_values(random, outputs * inputs * kernel * kernel);
    bias = random_values(random, outputs);
    source = [this](const Parameter& parameter, const Interval& elements, float* out) {
      const std::vector<float>& from = parameter.name == "conv.weight" ? weight : bias;
      std::copy_n(from.data() + elements.begin, elements.length(), out);
    };
  }

  /// The whole convolution in double, channels last, of a picture before any upsampling.
  std::vector<double> whole(const std::vector<float>& picture, int64_t items, int64_t height,
                            int64_t width) const {
    const Op& conv = graph.op(op);
    const int64_t inputs = graph.tensor(conv.inputs[0]).channels,
                  outputs = graph.tensor(conv.output).channels;
    const int64_t kernel = conv.kernel.y, scale = conv.factor.y, half = kernel / 2;
    std::vector<double> result;
    for (int64_t item = 0; item < items; ++item) {
      for (int64_t y = 0; y < height * scale; ++y) {
        for (int64_t x = 0; x < width * scale; ++x) {
          for (int64_t o = 0; o < outputs; ++o) {
            double sum = double(bias[static_cast<size_t>(o)]);
            for (int64_t tap = 0; tap < kernel * kernel; ++tap) {
              const int64_t row = y + tap / kernel - half, column = x + tap % kernel - half;
              if (row < 0 || row >= height * scale || column < 0 || column >= width * scale) continue;
              const float* pixel =
                  picture.data() + ((item * height + row / scale) * width + column / scale) * inputs;
              const float* weights = weight.data() + o * inputs * kernel * kernel + tap;
              for (int64_t c = 0; c < inputs; ++c)
                sum += double(pixel[c]) * double(weights[c * kernel * kernel]);
            }
            result.push_back(sum);
          }
        }
      }
    }
    return result;
  }
};

/// Largest error over the largest value of any region, by tiles that hold their halo, by both algorithms
/// and from both ways of loading.
TEST_CASE("a region of a convolution equals that of the whole, by both algorithms") {
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
  LimitedPool pool(int64_t{256} << 20);
  {
    const Case conv(random, inputs, outputs, kernel, upsamples);
    const Op& op = conv.graph.op(conv.op);
    std::vector<float> picture = random_values(random, items * height * width * inputs);
    const std::vector<double> expected = conv.whole(picture, items, height, width);
    const int64_t scale = upsamples ? 2 : 1;
    const auto part = [&](int64_t length) {
      const int64_t begin = random.integer(0, length - 1);
      return Interval{begin, random.integer(begin + 1, length)};
    };
    const Region region{{0, 1}, part(height * scale), part(width * scale)};
    Region needed = needed_region(op, 0, region);
    if (random.chance(0.3)) needed.y.begin -= 1;
    CAPTURE(region.y.begin, region.y.end, region.x.begin, region.x.end);
    Tile input = make_tile(pool, needed, inputs, items);
    MapView whole_picture{.region = whole({1, height, width}),
                          .channels = inputs,
                          .block_rows = height,
                          .blocks_per_item = 1,
                          .blocks = {}};
    for (int64_t item = 0; item < items; ++item)
      whole_picture.blocks.push_back(picture.data() + item * height * width * inputs);
    gather(whole_picture, input.view(), {1, height, width}, items);

    const Weights direct(pool, conv.graph, {conv.op}, ConvolutionAlgorithm::direct, conv.source);
    const Weights loaded(pool, conv.graph, {conv.op}, ConvolutionAlgorithm::winograd, conv.source);
    const Weights transformed(pool, conv.graph, {conv.op}, ConvolutionAlgorithm::winograd, direct);
    for (const Weights* weights : {&direct, &loaded, &transformed}) {
      Tile tile = make_tile(pool, region, outputs, items);
      KeptMap map(KeptTensor{.block_rows = 3}, {1, height * scale, width * scale}, outputs, items,
                  Dtype::fp32, [&](int64_t bytes, const InSeries&) { return pool.take(bytes); });
      if (into_blocks) map.acquire({0, map.blocks_per_item()});
      const MapView target = into_blocks ? map.view() : tile.view();
      for (int64_t item = 0; item < items; ++item) {
        for (int64_t y = region.y.begin; y < region.y.end; ++y)
          std::fill_n(target.at({item, 0, y}, region.x.begin), region.x.length() * outputs, 0.25f);
      }
      const OpWeights& own = weights->of(conv.op);
      const int64_t before = pool.live_bytes();
      pool.start_window();
      convolve(pool, {input.view(), own.kernel, target, region, items});
      CHECK(pool.window_peak_bytes() - before <=
            allocated_bytes(
                convolution_workspace_bytes(own.kernel.shape, own.kernel.algorithm, extent_of(region), items,
                                            threads + random.integer(0, 3)),
                DeviceKind::cpu));
      double worst = 0, largest = 1;
      for (int64_t item = 0; item < items; ++item) {
        for (int64_t y = region.y.begin; y < region.y.end; ++y) {
          const double* truth =
              expected.data() + ((item * height * scale + y) * width * scale + region.x.begin) * outputs;
          const float* found = target.at({item, 0, y}, region.x.begin);
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

/// What a convolution's traits make of it, by plain loops in double over a picture with its halo.
double convolved_by_hand(const Graph& graph, const Op& op,
                         const std::map<std::string, std::vector<float>>& parameters, const Tile& input,
                         int64_t y, int64_t x, int64_t output) {
  const ConvolutionTraits& traits = op.convolution;
  const int64_t inputs = graph.tensor(op.inputs[0]).channels, outputs = graph.tensor(op.output).channels;
  const std::vector<std::string> modules =
      traits.stacked.empty() ? std::vector<std::string>{op.name} : traits.stacked;
  const int64_t of_module = outputs / static_cast<int64_t>(modules.size());
  const std::vector<float>& weight =
      parameters.at(modules[static_cast<size_t>(output / of_module)] + ".weight");
  const int64_t of_group = inputs / op.groups, first = output / (outputs / op.groups) * of_group;
  const bool upsamples = op.factor.y > 1;
  const auto at = [&](int64_t row, int64_t column, int64_t channel) {
    const auto down = [&](int64_t position) { return upsamples ? (position + 2) / 2 - 1 : position; };
    return double(input.view().at({0, 0, down(row)}, down(column))[channel]);
  };
  double sum = 0;
  for (int64_t c = 0; c < of_group; ++c) {
    for (int64_t j = 0; j < op.kernel.y; ++j) {
      for (int64_t i = 0; i < op.kernel.x; ++i) {
        const auto k =
            static_cast<size_t>(((output % of_module * of_group + c) * op.kernel.y + j) * op.kernel.x + i);
        sum += double(weight[k]) * at(y + j - op.kernel.y / 2, x + i - op.kernel.x / 2, first + c);
      }
    }
  }
  const auto channel = [&](const std::string& name) {
    return double(parameters.at(name)[static_cast<size_t>(output)]);
  };
  if (traits.bias) sum += channel(op.name + ".bias");
  if (!traits.batch_norm.empty()) {
    const std::string& norm = traits.batch_norm;
    sum = (sum - channel(norm + ".running_mean")) / std::sqrt(channel(norm + ".running_var") + op.epsilon) *
              channel(norm + ".weight") +
          channel(norm + ".bias");
  }
  if (traits.shortcut && upsamples) {
    const int64_t repeats = 4 * outputs / inputs;
    sum += at(y, x, (4 * output + 2 * (y % 2) + x % 2) / repeats);
  } else if (traits.shortcut) {
    sum += at(y, x, output / (outputs / inputs));
  }
  return sum;
}

TEST_CASE("groups, stacked weights, shortcuts and batch norms, by both algorithms") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    ConvolutionTraits traits{.bias = random.chance(0.5)};
    int64_t inputs = random.pick<int64_t>({4, 16, 20}), outputs = inputs * random.integer(1, 4);
    int32_t kernel = random.pick<int32_t>({1, 3, 5});
    const auto kind = random.integer(0, 4);
    const bool upsamples = kind == 4;
    if (kind == 0) traits.groups = static_cast<int32_t>(outputs = inputs);
    if (kind == 1) traits.groups = static_cast<int32_t>(inputs / 2);
    if (kind == 2) traits.stacked = {"q", "k"};
    if (kind == 2) outputs *= 2;
    if (kind >= 3) traits.shortcut = true;
    if (kind == 3 || upsamples) kernel = 3;
    if (!upsamples && random.chance(0.3)) traits.batch_norm = "norm";
    CAPTURE(seed, inputs, outputs, kernel, kind, traits.bias, traits.batch_norm);
    start_libraries(2);
    Graph graph;
    const TensorId latent = graph.add_latent(inputs);
    graph.set_output(upsamples ? graph.upsampled_conv("conv", latent, outputs, traits)
                               : graph.conv("conv", latent, outputs, {1, kernel, kernel}, traits));
    const Op& op = graph.op(OpId{0});
    std::map<std::string, std::vector<float>> parameters;
    for (const Parameter& parameter : parameters_of(graph, op)) {
      int64_t count = 1;
      for (int64_t length : parameter.shape) count *= length;
      const bool variance = parameter.name == "norm.running_var";
      for (int64_t i = 0; i < count; ++i)
        parameters[parameter.name].push_back(static_cast<float>(random.uniform(variance ? 0.5 : -1, 1)));
    }
    const ParameterSource source = [&](const Parameter& parameter, const Interval& elements, float* out) {
      std::copy_n(parameters.at(parameter.name).data() + elements.begin, elements.length(), out);
    };
    const Region region{{0, 1}, {2, 2 + random.integer(1, 6)}, {3, 3 + random.integer(1, 40)}};
    const Region needed = needed_region(op, 0, region);
    LimitedPool pool(int64_t{256} << 20);
    Tile input = make_tile(pool, needed, inputs, 1);
    const std::vector<float> drawn = random_values(random, input.value_count());
    std::copy(drawn.begin(), drawn.end(), input.values.get());
    const Weights direct(pool, graph, {OpId{0}}, ConvolutionAlgorithm::direct, source);
    const Weights loaded(pool, graph, {OpId{0}}, ConvolutionAlgorithm::winograd, source);
    for (const Weights* weights : {&direct, &loaded}) {
      const OpWeights& own = weights->of(OpId{0});
      const Tile tile = make_tile(pool, region, outputs, 1);
      convolve(pool, {input.view(), own.kernel, tile.view(), region});
      double worst = 0, largest = 1;
      for (int64_t y = region.y.begin; y < region.y.end; ++y) {
        for (int64_t x = region.x.begin; x < region.x.end; ++x) {
          for (int64_t o = 0; o < outputs; ++o) {
            const double expected = convolved_by_hand(graph, op, parameters, input, y, x, o);
            worst = std::max(worst, std::abs(double(tile.view().at({0, 0, y}, x)[o]) - expected));
            largest = std::max(largest, std::abs(expected));
          }
        }
      }
      CHECK(worst <= 1e-5 * largest);
    }
  }
}

}  // namespace
}  // namespace headroom
