#include "decoder/cpu/packed_weights.h"

#include <algorithm>
#include <cmath>

#include "decoder/cpu/loops/packing.h"
#include "decoder/cpu/threads.h"
#include "decoder/graph/errors.h"
#include "decoder/lowering/memory.h"

namespace headroom {
namespace {

using kernels::PackedPart;

constexpr int64_t kAlignedFloats = 16;
constexpr int64_t kChunkFloats = int64_t{16} << 10;
// Kernels are packed in parts of so many outputs and inputs.
constexpr int64_t kPartOutputs = 16;
constexpr int64_t kPartInputs = 64;

int64_t aligned(int64_t floats) {
  return (floats + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
}

int64_t elements(const Parameter& parameter) {
  int64_t product = 1;
  for (int64_t length : parameter.shape) product *= length;
  return product;
}

/// Runs f on chunks of [0, count).
template <typename F>
void for_chunks(int64_t count, const F& f) {
  parallel_for(0, (count + kChunkFloats - 1) / kChunkFloats, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      f(Interval{i * kChunkFloats, std::min(count, (i + 1) * kChunkFloats)});
  });
}

/// Runs f(first output, inputs) on every part of a kernel. Threads may keep buffers in `Buffers`.
template <typename Buffers, typename F>
void for_parts(const KernelShape& shape, const F& f) {
  const int64_t across = (shape.inputs + kPartInputs - 1) / kPartInputs;
  const int64_t parts = (shape.outputs + kPartOutputs - 1) / kPartOutputs * across;
  parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    Buffers buffers;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % across * kPartInputs;
      f(i / across * kPartOutputs, Interval{first, std::min(shape.inputs, first + kPartInputs)}, buffers);
    }
  });
}

/// The part of a frame's matrices in a packed kernel that begins with this output and input.
PackedPart part_of(const KernelShape& shape, ConvolutionAlgorithm form, float* packed, int64_t frame,
                   int64_t output, int64_t input) {
  const int64_t width = kernels::panel_width(shape, output);
  float* of_frame = packed + frame * shape.frame_matrices(form) * shape.matrix_floats();
  return {of_frame + kernels::panel_offset(shape, output) + input * width, shape.matrix_floats(), width};
}

/// Elements `range` of a parameter.
void load(const ParameterSource& source, const Parameter& parameter, const Interval& range, float* out) {
  for_chunks(range.length(), [&](const Interval& chunk) {
    source(parameter, {range.begin + chunk.begin, range.begin + chunk.end}, out + chunk.begin);
  });
}

void load(const ParameterSource& source, const Parameter& parameter, float* out) {
  load(source, parameter, {0, elements(parameter)}, out);
}

/// The parameters of a convolution on their way into its kernel and bias.
class ConvolutionLoader {
 public:
  ConvolutionLoader(const Graph& graph, const Op& op, const ParameterSource& source)
      : op_(op), source_(source), shape_(kernel_shape(graph, op)), parameters_(parameters_of(graph, op)) {
    modules_ = std::max<size_t>(1, op.convolution.stacked.size());
    if (op.convolution.shortcut) shortcut_weight_ = 1;
    if (!op.convolution.batch_norm.empty()) load_batch_norm();
    if (!op.convolution.mix_factor.empty()) load_mix_factor();
  }

  void load_bias(float* bias) const {
    std::fill_n(bias, shape_.outputs, 0.0f);
    const int64_t first = op_.convolution.part * shape_.outputs;
    if (op_.convolution.bias) load(source_, parameters_[modules_], {first, first + shape_.outputs}, bias);
    if (scale_.empty()) return;
    for (int64_t o = 0; o < shape_.outputs; ++o) {
      const auto i = static_cast<size_t>(o);
      bias[o] = static_cast<float>(bias[o] * scale_[i] + shift_[i]);
    }
  }

  void load_kernel(ConvolutionAlgorithm form, float* packed) const {
    if (shape_.depthwise()) return load_depthwise(packed);
    const KernelShape group = shape_.of_group();
    for (int64_t g = 0; g < shape_.groups && shape_.groups > 1; ++g)
      load_group(group, g, form, packed + g * group.floats(form));
    if (shape_.groups == 1) load_group(shape_, 0, form, packed);
  }

 private:
  /// (x - mean) / sqrt(variance + epsilon) * weight + bias as a factor and a summand for each output.
  void load_batch_norm() {
    const auto outputs = static_cast<size_t>(shape_.outputs);
    const size_t first = modules_ + (op_.convolution.bias ? 1 : 0);
    std::vector<float> weight(outputs), bias(outputs), mean(outputs), variance(outputs);
    load(source_, parameters_[first], weight.data());
    load(source_, parameters_[first + 1], bias.data());
    load(source_, parameters_[first + 2], mean.data());
    load(source_, parameters_[first + 3], variance.data());
    for (size_t o = 0; o < outputs; ++o) {
      scale_.push_back(double(weight[o]) / std::sqrt(double(variance[o]) + op_.epsilon));
      shift_.push_back(double(bias[o]) - double(mean[o]) * scale_.back());
    }
  }

  /// The share of the input becomes part of the kernel, that of the convolution a factor of each output.
  void load_mix_factor() {
    float stored = 0;
    load(source_, parameters_.back(), &stored);
    const double share = 1 / (1 + std::exp(-double(stored)));
    shortcut_weight_ = static_cast<float>(share);
    scale_.assign(static_cast<size_t>(shape_.outputs), 1 - share);
    shift_.assign(scale_.size(), 0);
  }

  /// Elements [begin, end) of one output's weights, wherever its module has them.
  void load_taps(int64_t output, const Interval& range, float* out) const {
    const int64_t of_module = shape_.outputs / static_cast<int64_t>(modules_);
    const int64_t row = shape_.inputs / shape_.groups * shape_.frames * shape_.rows * shape_.columns;
    const int64_t begin = (op_.convolution.part * shape_.outputs + output % of_module) * row;
    source_(parameters_[static_cast<size_t>(output / of_module)], {begin + range.begin, begin + range.end},
            out);
    if (scale_.empty()) return;
    const double scale = scale_[static_cast<size_t>(output)];
    for (int64_t i = 0; i < range.length(); ++i) out[i] = static_cast<float>(out[i] * scale);
  }

  /// `group` is the shape of one group's kernel.
  void load_group(const KernelShape& group, int64_t number, ConvolutionAlgorithm form, float* packed) const {
    struct Buffers {
      std::vector<float> stored, taps, direct;
    };
    const int64_t frame_taps = group.rows * group.columns, kernel_taps = group.frames * frame_taps;
    for_parts<Buffers>(group, [&](int64_t output, const Interval& inputs, Buffers& buffers) {
      const int64_t outputs = std::min(kPartOutputs, group.outputs - output);
      const int64_t distance = inputs.length() * kernel_taps;
      buffers.stored.resize(static_cast<size_t>(kPartOutputs * distance));
      for (int64_t o = 0; o < outputs; ++o) {
        load_taps(number * group.outputs + output + o, {inputs.begin * kernel_taps, inputs.end * kernel_taps},
                  buffers.stored.data() + o * distance);
      }
      for (int64_t frame = 0; frame < group.frames; ++frame) {
        const std::vector<float>& taps =
            group.frames == 1 ? buffers.stored
                              : of_frame(buffers.stored, outputs * inputs.length(), kernel_taps,
                                         frame * frame_taps, frame_taps, buffers.taps);
        const auto pack = [&](const PackedPart& direct) {
          kernels::pack_direct(group, taps.data(), inputs.length() * frame_taps, inputs.length(), outputs,
                               direct);
          if (shortcut_weight_ != 0 && frame + 1 == group.frames) {
            kernels::add_shortcut(group, inputs.begin, inputs.length(), output, outputs, shortcut_weight_,
                                  direct);
          }
        };
        const PackedPart target = part_of(group, form, packed, frame, output, inputs.begin);
        if (form == ConvolutionAlgorithm::direct) {
          pack(target);
          continue;
        }
        const int64_t matrices = group.frame_matrices(ConvolutionAlgorithm::direct);
        buffers.direct.resize(static_cast<size_t>(matrices * inputs.length() * kPartOutputs));
        const PackedPart direct{buffers.direct.data(), inputs.length() * kPartOutputs, kPartOutputs};
        pack(direct);
        kernels::pack_winograd(group, direct, inputs.length(), target);
      }
    });
  }

  /// `count` values from `first` on of each of `kernels` runs of `kernel` values, one after another.
  static const std::vector<float>& of_frame(const std::vector<float>& stored, int64_t kernels, int64_t kernel,
                                            int64_t first, int64_t count, std::vector<float>& taps) {
    taps.resize(static_cast<size_t>(kernels * count));
    for (int64_t i = 0; i < kernels; ++i)
      std::copy_n(stored.data() + i * kernel + first, count, taps.data() + i * count);
    return taps;
  }

  /// Channels side by side; zeros beyond them.
  void load_depthwise(float* packed) const {
    const int64_t taps = shape_.rows * shape_.columns, across = shape_.padded_outputs();
    parallel_for(0, across, kPartInputs, [&](int64_t begin, int64_t end) {
      std::vector<float> values(static_cast<size_t>(taps), 0.0f);
      for (int64_t c = begin; c < end; ++c) {
        if (c < shape_.outputs) {
          load_taps(c, {0, taps}, values.data());
        } else {
          std::fill(values.begin(), values.end(), 0.0f);
        }
        for (int64_t t = 0; t < taps; ++t) packed[t * across + c] = values[static_cast<size_t>(t)];
      }
    });
  }

  const Op& op_;
  const ParameterSource& source_;
  const KernelShape shape_;
  const std::vector<Parameter> parameters_;
  size_t modules_ = 1;
  std::vector<double> scale_, shift_;  ///< by output; empty where there is neither batch norm nor mix factor
  float shortcut_weight_ = 0;          ///< of the input in the result
};

void transform_kernel(const PackedKernel& from, float* packed) {
  struct Nothing {};
  // Only read through.
  float* direct = const_cast<float*>(from.values);
  for_parts<Nothing>(from.shape, [&](int64_t output, const Interval& inputs, Nothing&) {
    for (int64_t frame = 0; frame < from.shape.frames; ++frame) {
      kernels::pack_winograd(
          from.shape, part_of(from.shape, ConvolutionAlgorithm::direct, direct, frame, output, inputs.begin),
          inputs.length(),
          part_of(from.shape, ConvolutionAlgorithm::winograd, packed, frame, output, inputs.begin));
    }
  });
}

}  // namespace

Weights::Weights(Pool& pool, const Graph& graph, const std::vector<OpId>& operations,
                 ConvolutionAlgorithm form, const ParameterSource& source,
                 const std::function<void(double)>& progress)
    : ops_(graph.ops().size()) {
  int64_t floats = 0;
  for (OpId op : operations) floats += weights_bytes(graph, graph.op(op), form, {}) / int64_t{sizeof(float)};
  slab_ = pool.take_floats(floats);
  float* next = slab_.get();
  for (size_t i = 0; i < operations.size(); ++i) {
    const Op& op = graph.op(operations[i]);
    OpWeights& weights = ops_[index(operations[i])];
    const int64_t channels = graph.tensor(op.output).channels;
    if (op.kind == OpKind::conv) {
      const ConvolutionLoader loader(graph, op, source);
      const KernelShape shape = kernel_shape(graph, op);
      const ConvolutionAlgorithm own = algorithm_of(shape, form);
      loader.load_kernel(own, next);
      weights.kernel = {shape, own, next, nullptr};
      next += aligned(shape.floats(own));
      loader.load_bias(next);
      weights.kernel.bias = next;
      next += aligned(channels);
    } else if (const std::vector<Parameter> parameters = parameters_of(graph, op); !parameters.empty()) {
      load(source, parameters[0], next);
      weights.scale = next;
      next += aligned(channels);
      if (parameters.size() > 1) {
        load(source, parameters[1], next);
      } else {
        std::fill_n(next, channels, 0.0f);
      }
      weights.bias = next;
      next += aligned(channels);
    }
    if (progress) progress(double(i + 1) / double(operations.size()));
  }
}

Weights::Weights(Pool& pool, const Graph& graph, const std::vector<OpId>& operations, const Weights& direct)
    : ops_(direct.ops_) {
  std::vector<OpId> changing;
  int64_t floats = 0;
  for (OpId op : operations) {
    if (!has_winograd(graph, op)) continue;
    changing.push_back(op);
    floats += direct.of(op).kernel.shape.floats(ConvolutionAlgorithm::winograd);
  }
  slab_ = pool.take_floats(floats);
  float* next = slab_.get();
  for (OpId op : changing) {
    PackedKernel& kernel = ops_[index(op)].kernel;
    transform_kernel(direct.of(op).kernel, next);
    kernel.algorithm = ConvolutionAlgorithm::winograd;
    kernel.values = next;
    next += kernel.shape.floats(ConvolutionAlgorithm::winograd);
  }
}

void PlannedWeights::begin_pass(size_t number) {
  const Pass& pass = plan_.passes[number];
  try {
    if (resident_ == nullptr) {
      of_pass_.emplace(pool_, graph_, operations_of(pass), pass.convolutions, source_);
    } else if (pass.convolutions == ConvolutionAlgorithm::winograd) {
      of_pass_.emplace(pool_, graph_, operations_of(pass), *resident_);
    }
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded("pass " + std::to_string(number) + " (" + pass.name +
                        "), loading its weights: " + refused.what());
  }
}

}  // namespace headroom
