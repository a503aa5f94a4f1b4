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
#include "decoder/interpreter/kept_map.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/storage.h"
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

/// One output value of a convolution by plain loops in double, over a picture with its halo.
double convolved_by_hand(const Graph& graph, const Op& op,
                         const std::map<std::string, std::vector<float>>& parameters, const MapView& input,
                         const Row& row, int64_t x, int64_t output) {
  const ConvolutionTraits& traits = op.convolution;
  const int64_t inputs = graph.tensor(op.inputs[0]).channels, outputs = graph.tensor(op.output).channels;
  const std::vector<std::string> modules =
      traits.stacked.empty() ? std::vector<std::string>{op.name} : traits.stacked;
  const int64_t of_module = outputs / static_cast<int64_t>(modules.size());
  const std::vector<float>& weight =
      parameters.at(modules[static_cast<size_t>(output / of_module)] + ".weight");
  const int64_t of_group = inputs / op.groups, first = output / (outputs / op.groups) * of_group;
  const bool upsamples = op.factor.y > 1;
  const int64_t y = row.y;
  const auto at = [&](int64_t line, int64_t column, int64_t channel) {
    const auto down = [&](int64_t position) { return upsamples ? (position + 2) / 2 - 1 : position; };
    return double(input.at({row.item, 0, down(line)}, down(column))[channel]);
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

/// A convolution of any kind, with its parameters.
struct DrawnConvolution {
  Graph graph;
  std::map<std::string, std::vector<float>> parameters;
  ParameterSource source = [this](const Parameter& parameter, const Interval& elements, float* out) {
    std::copy_n(parameters.at(parameter.name).data() + elements.begin, elements.length(), out);
  };

  DrawnConvolution(Random& random, int64_t kind) {
    ConvolutionTraits traits{.bias = random.chance(0.5)};
    int64_t inputs = random.pick<int64_t>({4, 16, 20}), outputs = inputs * random.integer(1, 4);
    auto kernel = random.pick<int32_t>({1, 3, 3, 5});
    const bool upsamples = kind == 4 || kind == 6;
    if (kind == 0) traits.groups = static_cast<int32_t>(outputs = inputs);
    if (kind == 1) traits.groups = static_cast<int32_t>(inputs / 2);
    if (kind == 2) traits.stacked = {"q", "k"};
    if (kind == 2) outputs *= 2;
    if (kind == 3 || kind == 4) traits.shortcut = true;
    if (kind >= 5) inputs = random.pick<int64_t>({1, 3, 16, 64, 130});
    if (kind >= 5) outputs = random.pick<int64_t>({1, 3, 40, 128, 150});
    if (kind == 3 || upsamples) kernel = 3;
    if (!upsamples && random.chance(0.3)) traits.batch_norm = "norm";
    const TensorId latent = graph.add_latent(inputs);
    graph.set_output(upsamples ? graph.upsampled_conv("conv", latent, outputs, traits)
                               : graph.conv("conv", latent, outputs, {1, kernel, kernel}, traits));
    for (const Parameter& parameter : parameters_of(graph, op())) {
      const int64_t count = elements_of(parameter);
      const bool variance = parameter.name == "norm.running_var";
      for (int64_t i = 0; i < count; ++i)
        parameters[parameter.name].push_back(static_cast<float>(random.uniform(variance ? 0.5 : -1, 1)));
    }
  }
  DrawnConvolution(const DrawnConvolution&) = delete;
  DrawnConvolution& operator=(const DrawnConvolution&) = delete;
  const Op& op() const { return graph.op(OpId{0}); }
};

TEST_CASE("a region of a convolution of any kind is that of plain loops, by both algorithms") {
  const uint64_t seed = GENERATE(range(uint64_t{0}, uint64_t{70}));
  Random random(seed);
  const auto kind = static_cast<int64_t>(seed % 7);
  const DrawnConvolution conv(random, kind);
  const Op& op = conv.op();
  const int64_t inputs = conv.graph.tensor(op.inputs[0]).channels,
                outputs = conv.graph.tensor(op.output).channels;
  const int64_t items = random.integer(1, 2);
  const int threads = static_cast<int>(random.integer(1, 4));
  const bool into_blocks = random.chance(0.3);
  const Region region{{0, 1}, {2, 2 + random.integer(1, 21)}, {3, 3 + random.integer(1, 40)}};
  Region needed = needed_region(op, region);
  if (random.chance(0.3)) needed.y.begin -= 1;
  CAPTURE(seed, kind, inputs, outputs, op.kernel.y, items, threads, into_blocks, region.y.end, region.x.end);
  start_libraries(threads);
  {
    LimitedPool pool(int64_t{256} << 20);
    const Tile input = make_tile(pool, needed, inputs, items);
    const std::vector<float> drawn = random_values(random, input.value_count());
    std::copy(drawn.begin(), drawn.end(), input.values.get());
    const Weights direct(pool, conv.graph, {OpId{0}}, ConvolutionAlgorithm::direct, conv.source);
    const Weights loaded(pool, conv.graph, {OpId{0}}, ConvolutionAlgorithm::winograd, conv.source);
    const Weights transformed(pool, conv.graph, {OpId{0}}, ConvolutionAlgorithm::winograd, direct);
    for (const Weights* weights : {&direct, &loaded, &transformed}) {
      const Tile tile = make_tile(pool, region, outputs, items);
      KeptMap map(KeptTensor{.block_rows = 3}, {1, region.y.end, region.x.end}, outputs, items, Dtype::fp32,
                  [&](int64_t bytes, const InSeries&) { return pool.take(bytes); });
      if (into_blocks) map.acquire({0, map.blocks_per_item()});
      const MapView target = into_blocks ? map.view() : tile.view();
      const OpWeights& own = weights->of(OpId{0});
      const int64_t before = pool.live_bytes();
      pool.start_window();
      convolve(pool, {input.view(), own.kernel, target, region, items});
      const int64_t workspace = convolution_workspace_bytes(own.kernel.shape, own.kernel.algorithm,
                                                            extent_of(region), items, threads);
      CHECK(pool.window_peak_bytes() - before <= allocated_bytes(workspace, DeviceKind::cpu));
      double worst = 0, largest = 1;
      for (int64_t item = 0; item < items; ++item) {
        for (int64_t y = region.y.begin; y < region.y.end; ++y) {
          for (int64_t x = region.x.begin; x < region.x.end; ++x) {
            const float* found = target.at({item, 0, y}, x);
            for (int64_t o = 0; o < outputs; ++o) {
              const double expected =
                  convolved_by_hand(conv.graph, op, conv.parameters, input.view(), {item, 0, y}, x, o);
              worst = std::max(worst, std::abs(double(found[o]) - expected));
              largest = std::max(largest, std::abs(expected));
            }
          }
        }
      }
      CHECK(worst <= 1e-5 * largest);
    }
  }
  start_libraries(2);
}

}  // namespace
}  // namespace headroom
