#include "decoder/weights/folded_convolution.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <utility>

#include "decoder/families/load_model.h"
#include "decoder/graph/model.h"
#include "decoder/operations/operation.h"
#include "decoder/weights/random_weights.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

/// A convolution as the model has it, step by step in double: the kernel over the upsampled input, the bias,
/// the batch norm or the mix with the input, the shortcut. The kernel has all frames that the weights have.
class Unfolded {
 public:
  Unfolded(const Graph& graph, const Op& op, const ParameterSource& source)
      : op_(op),
        shape_(kernel_shape(graph, op)),
        frames_(std::max<int64_t>(shape_.frames, op.convolution.stored_frames)) {
    for (const Parameter& parameter : parameters_of(graph, op)) {
      int64_t count = 1;
      for (const int64_t extent : parameter.shape) count *= extent;
      source(parameter, {0, count}, values_.emplace_back(static_cast<size_t>(count)).data());
    }
  }

  /// `input(frame of the kernel, row, column, channel)` counts rows and columns from the output's own
  /// position, in the resolution of the output.
  template <class Input>
  double output(int64_t o, const Input& input) const {
    const ConvolutionTraits& traits = op_.convolution;
    if (traits.stacks_past) return of_frame(o, input);
    if (traits.frames.several()) return output_of_frames(o, input);
    const size_t modules = std::max<size_t>(1, traits.stacked.size());
    const int64_t of_module = shape_.outputs / static_cast<int64_t>(modules);
    const int64_t inputs = shape_.inputs / shape_.groups, group = o / (shape_.outputs / shape_.groups);
    const std::vector<float>& kernel = values_[static_cast<size_t>(o / of_module)];
    const int64_t stored = stored_output(o);
    auto tap = kernel.begin() + stored % of_module * inputs * frames_ * shape_.rows * shape_.columns;
    double sum = 0;
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t f = 0; f < frames_; ++f) {
        for (int64_t y = 0; y < shape_.rows; ++y) {
          for (int64_t x = 0; x < shape_.columns; ++x)
            sum += double(*tap++) * input(f, y - shape_.rows / 2, x - shape_.columns / 2, group * inputs + i);
        }
      }
    }
    size_t next = modules;
    const auto at = [&](int64_t channel) { return double(values_[next++][static_cast<size_t>(channel)]); };
    if (traits.bias) {
      sum += double(values_[modules + static_cast<size_t>(stored / of_module)]
                           [static_cast<size_t>(stored % of_module)]);
      next += modules;
    }
    if (!traits.batch_norm.empty()) {
      const double weight = at(o), bias = at(o), mean = at(o), variance = at(o);
      sum = (sum - mean) / std::sqrt(variance + op_.epsilon) * weight + bias;
    }
    sum = sum * traits.scale + traits.shift;
    if (traits.mix_factor.empty() && !traits.shortcut) return sum;
    const double share = traits.mix_factor.empty() ? 1 : 1 / (1 + std::exp(-at(0)));
    if (!traits.mixes_input) return share * sum;
    if (!traits.mix_factor.empty()) sum *= 1 - share;
    const int64_t of =
        traits.tiled_shortcut ? stored % shape_.inputs : stored * shape_.inputs / shape_.outputs;
    return sum + share * input(frames_ - 1 - traits.frames_ahead - traits.stored_ahead, 0, 0, of);
  }

 private:
  /// The model stacks the frame before behind a frame's channels, and convolves each frame on its own.
  template <class Input>
  double of_frame(int64_t o, const Input& input) const {
    const ConvolutionTraits& traits = op_.convolution;
    const int64_t held = traits.frames.inputs, frame = o % held, stored = o / held;
    const int64_t channels = shape_.inputs / held, stacked = 2;
    auto tap = values_[0].begin() + stored * stacked * channels * shape_.rows * shape_.columns;
    double sum = traits.bias ? double(values_[1][static_cast<size_t>(stored)]) : 0;
    for (int64_t i = 0; i < stacked * channels; ++i) {
      const int64_t read = frame - i / channels, of_position = (read + held) % held;
      for (int64_t y = 0; y < shape_.rows; ++y) {
        for (int64_t x = 0; x < shape_.columns; ++x)
          sum += double(*tap++) * input(frames_ - (read < 0 ? 2 : 1), y - shape_.rows / 2,
                                        x - shape_.columns / 2, i % channels * held + of_position);
      }
    }
    return sum;
  }

  /// A kernel over frames, then einops "b (r1 r2 r3 c) f h w -> b c (f r1) (h r2) (w r3)".
  template <class Input>
  double output_of_frames(int64_t o, const Input& input) const {
    const FramesInChannels& frames = op_.convolution.frames;
    const int64_t side = op_.convolution.stored_side, channel = o / (side * side);
    const int64_t made = frames.first + channel % frames.outputs, frame = made / frames.made;
    const int64_t channels = shape_.outputs / (side * side) / frames.outputs,
                  inputs = shape_.inputs / frames.inputs;
    const int64_t stored = ((made % frames.made * side + o / side % side) * side + o % side) * channels +
                           channel / frames.outputs;
    auto tap = values_[0].begin() + stored * inputs * frames_ * shape_.rows * shape_.columns;
    double sum = op_.convolution.bias ? double(values_[1][static_cast<size_t>(stored)]) : 0;
    for (int64_t i = 0; i < inputs; ++i) {
      for (int64_t f = frame - frames_ / 2; f <= frame + frames_ / 2; ++f) {
        for (int64_t y = 0; y < shape_.rows; ++y) {
          for (int64_t x = 0; x < shape_.columns; ++x, ++tap) {
            if (f >= 0 && f < frames.inputs)
              sum +=
                  double(*tap) * input(0, y - shape_.rows / 2, x - shape_.columns / 2, i * frames.inputs + f);
          }
        }
      }
    }
    if (!op_.convolution.shortcut) return sum;
    const int64_t of = stored / (std::ssize(values_[1]) / inputs);
    return sum + input(0, 0, 0, of * frames.inputs + frame);
  }

  /// By what a reference does with them: einops "b (c q r) h w -> b c (h r) (w q)", "b (r q c) h w -> …".
  int64_t stored_output(int64_t o) const {
    const int64_t side = op_.convolution.stored_side, pixels = side * side;
    const int64_t channel = o / pixels, r = o % pixels / side, q = o % side;
    if (op_.convolution.stored_order == StoredOrder::channel_column_row)
      return channel * pixels + q * side + r;
    if (op_.convolution.stored_order == StoredOrder::row_column_channel)
      return (o - channel * pixels) * (shape_.outputs / pixels) + channel;
    return o;
  }

  const Op& op_;
  const KernelShape shape_;
  const int64_t frames_;
  std::vector<std::vector<float>> values_;
};

/// Values of a few positions around an output.
class Window {
 public:
  Window(test::Random& random, const KernelShape& shape) : shape_(shape) {
    for (int64_t i = 0; i < shape.frames * kSide * kSide * shape.inputs; ++i)
      values_.push_back(random.uniform(-1, 1));
  }
  double at(int64_t frame, int64_t y, int64_t x, int64_t channel) const {
    return values_.at(static_cast<size_t>(
        ((frame * kSide + y + kSide / 2) * kSide + x + kSide / 2) * shape_.inputs + channel));
  }

 private:
  static constexpr int64_t kSide = 9;
  const KernelShape shape_;
  std::vector<double> values_;
};

/// One output value by the folded parameters. Over upsampling `row` and `column` select one of the output's
/// four phases. The even phase reads the previous position and its own, the odd one its own and the next.
double folded_output(const FoldedConvolution& convolution, int64_t o, const Window& window, int64_t row,
                     int64_t column) {
  const KernelShape& shape = convolution.shape();
  const int64_t inputs = convolution.group_inputs(), group = o / (shape.outputs / shape.groups);
  std::vector<float> taps(static_cast<size_t>(shape.frames * inputs * convolution.frame_taps())),
      bias(static_cast<size_t>(shape.outputs));
  // In two ranges of inputs, as kernels are packed.
  for (const Interval part : {Interval{0, inputs / 2}, Interval{inputs / 2, inputs}}) {
    std::vector<float> own(static_cast<size_t>(shape.frames * part.length() * convolution.frame_taps()));
    convolution.read_taps(o, part, own.data());
    const int64_t count = part.length() * convolution.frame_taps();
    for (int64_t f = 0; f < shape.frames; ++f) {
      std::copy_n(own.begin() + f * count, count,
                  taps.begin() + (f * inputs + part.begin) * convolution.frame_taps());
    }
  }
  convolution.read_bias(bias.data());
  double sum = bias[static_cast<size_t>(o)];
  for (int64_t f = 0; f < shape.frames; ++f) {
    for (int64_t i = 0; i < inputs; ++i) {
      const float* own = taps.data() + (f * inputs + i) * convolution.frame_taps();
      const int64_t channel = group * inputs + i;
      if (shape.upsamples) {
        for (int64_t y = 0; y < 2; ++y) {
          for (int64_t x = 0; x < 2; ++x)
            sum +=
                own[(2 * row + y) * 4 + 2 * column + x] * window.at(f, y - 1 + row, x - 1 + column, channel);
        }
        continue;
      }
      for (int64_t y = 0; y < shape.rows; ++y) {
        for (int64_t x = 0; x < shape.columns; ++x)
          sum +=
              own[y * shape.columns + x] * window.at(f, y - shape.rows / 2, x - shape.columns / 2, channel);
      }
    }
  }
  return sum;
}

/// The layer graphs of a model: of one frame too where it decodes clips.
std::vector<Graph> graphs_of(const Model& model) {
  std::vector<Graph> graphs{model.graph};
  if (model.decodes_clips) graphs.push_back(for_frames(model, 1).graph);
  return graphs;
}

std::vector<std::pair<const Graph&, const Op&>> convolutions_of(const std::vector<Graph>& graphs) {
  std::vector<std::pair<const Graph&, const Op&>> list;
  for (const Graph& graph : graphs) {
    for (const Op& op : graph.ops()) {
      if (op.kind == OpKind::conv) list.emplace_back(graph, op);
    }
  }
  return list;
}

TEST_CASE("folded parameters make what the model makes step by step, in every family") {
  const ParameterSource source = [](const Parameter& parameter, const Interval& elements, float* out) {
    fill_random(parameter, 3, elements, out);
  };
  test::Random random(4);
  int64_t norms = 0, mixes = 0, shortcuts = 0, upsampled = 0, grouped = 0, clips = 0, stacked = 0;
  int64_t held = 0, grown = 0, past = 0;
  int64_t last_taps = 0, sums = 0, tiled = 0, by_columns = 0, scaled = 0, by_pixels = 0, factors = 0,
          both_ends = 0, packed = 0;
  for (const auto& folder : std::filesystem::directory_iterator(HEADROOM_TEST_DATA "/golden")) {
    const std::vector<Graph> graphs = graphs_of(resolve_model(folder.path().string()));
    for (const auto& [graph, op] : convolutions_of(graphs)) {
      CAPTURE(folder.path().string(), op.name, &graph == &graphs[0]);
      if (!op.convolution.product.empty()) continue;  // tests/decoder/weights/kernel_product_test.cpp
      const FoldedConvolution folded(graph, op, source);
      const Unfolded unfolded(graph, op, source);
      const KernelShape& shape = folded.shape();
      const bool in_channels = op.convolution.frames.several() && !op.convolution.stacks_past;
      const int64_t later = op.convolution.stored_ahead;
      const int64_t earlier =
          in_channels ? 0 : std::max<int64_t>(0, op.convolution.stored_frames - shape.frames) - later;
      const bool repeats = op.convolution.before_first == BeforeFirst::first_frame;
      // Over upsampling a shortcut is shuffled as well: see ConvolutionTraits.
      const bool shuffled = shape.upsamples && op.convolution.shortcut;
      const Window window(random, shape);
      const int64_t phases = shape.upsamples ? 2 : 1, o = random.integer(0, shape.outputs - 1);
      for (int64_t row = 0; row < phases && !shuffled; ++row) {
        for (int64_t column = 0; column < phases; ++column) {
          const double expected = unfolded.output(o, [&](int64_t f, int64_t y, int64_t x, int64_t channel) {
            // Frames outside the clip: the first that there is again, or zeros.
            if ((f < earlier || f >= earlier + shape.frames) && !repeats) return 0.0;
            f = std::max<int64_t>(0, f - earlier);
            if (!shape.upsamples) return window.at(f, y, x, channel);
            return window.at(f, (row + y + 2) / 2 - 1, (column + x + 2) / 2 - 1, channel);
          });
          CHECK(folded_output(folded, o, window, row, column) == Approx(expected).margin(1e-5));
        }
      }
      norms += !op.convolution.batch_norm.empty();
      mixes += !op.convolution.mix_factor.empty() && op.convolution.mixes_input;
      factors += !op.convolution.mixes_input;
      both_ends += later > 0;
      packed += in_channels;
      shortcuts += op.convolution.shortcut && !shuffled;
      upsampled += shape.upsamples;
      grouped += shape.groups > 1;
      clips += shape.frames > 1;
      stacked += op.convolution.stacked.size() > 1;
      last_taps += earlier > 0 && !repeats;
      sums += earlier > 0 && repeats;
      by_columns += op.convolution.stored_order == StoredOrder::channel_column_row;
      by_pixels += op.convolution.stored_order == StoredOrder::row_column_channel;
      scaled += op.convolution.scale != 1;
      tiled += op.convolution.tiled_shortcut;
      held += op.convolution.frames.inputs > 2;
      grown += op.convolution.frames.made > 1;
      past += op.convolution.stacks_past;
    }
  }
  for (const int64_t seen :
       {norms, mixes, shortcuts, upsampled, grouped, clips, stacked, last_taps, sums, by_columns, by_pixels,
        scaled, tiled, factors, both_ends, packed, held, grown, past})
    CHECK(seen > 0);
}

TEST_CASE("a bias can leave out the shift of the result") {
  Graph graph;
  graph.conv("out", graph.add_latent(2), 3, {1, 3, 3}, {.scale = 2, .shift = -1});
  const ParameterSource quarters = [](const Parameter&, const Interval& elements, float* out) {
    std::fill_n(out, elements.length(), 0.25f);
  };
  const FoldedConvolution folded(graph, graph.ops().front(), quarters);
  std::vector<float> bias(3);
  folded.read_bias(bias.data());
  CHECK(bias == std::vector<float>(3, -0.5f));
  folded.read_bias(bias.data(), false);
  CHECK(bias == std::vector<float>(3, 0.5f));
}

TEST_CASE("a shortcut over upsampling adds the channels of the input shuffled to twice the size") {
  Graph graph;
  const TensorId latent = graph.add_latent(8);
  graph.upsampled_conv("up", latent, 4, {.bias = false, .shortcut = true});
  const Op& op = graph.ops().front();
  const ParameterSource zeros = [](const Parameter&, const Interval& elements, float* out) {
    std::fill_n(out, elements.length(), 0.0f);
  };
  const FoldedConvolution folded(graph, op, zeros);
  test::Random random(5);
  const Window window(random, folded.shape());
  for (int64_t o = 0; o < 4; ++o) {
    for (int64_t row = 0; row < 2; ++row) {
      for (int64_t column = 0; column < 2; ++column) {
        // Each twice: 16 for the four phases of 4 outputs.
        const int64_t channel = (4 * o + 2 * row + column) / 2;
        CHECK(folded_output(folded, o, window, row, column) == window.at(0, 0, 0, channel));
      }
    }
  }
}

}  // namespace
}  // namespace headroom
