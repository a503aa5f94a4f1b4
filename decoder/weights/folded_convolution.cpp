#include "decoder/weights/folded_convolution.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/mapped_memory.h"
#include "decoder/operations/operation.h"

namespace headroom {
namespace {

const Parameter& named(const std::vector<Parameter>& parameters, const std::string& name) {
  return *std::find_if(parameters.begin(), parameters.end(),
                       [&](const Parameter& other) { return other.name == name; });
}

/// Elements of a module's part in the module's parameter.
Interval elements_of_part(const Parameter& parameter, const ModulePart& part) {
  const int64_t count = elements_of(parameter) / part.parts;
  return {part.part * count, (part.part + 1) * count};
}

/// The values of a part. They lie in pages of their own, which go back to the system at once: the heap would
/// keep them.
std::shared_ptr<const float> kernel_of(const std::vector<Parameter>& parameters, const ModulePart& part,
                                       const ParameterSource& source) {
  const Parameter& parameter = named(parameters, part.module + ".weight");
  const Interval own = elements_of_part(parameter, part);
  const int64_t bytes = own.length() * int64_t{sizeof(float)};
  char* pages = map_pages(bytes);
  if (pages == nullptr) throw DeviceError("no memory for " + std::to_string(bytes) + " bytes of a kernel");
  const std::shared_ptr<float> values(reinterpret_cast<float*>(pages),
                                      [bytes](float* memory) { unmap_pages(memory, bytes); });
  source(parameter, own, values.get());
  return values;
}

/// The bias of a part. Reads that of the whole module.
std::vector<float> bias_of(const std::vector<Parameter>& parameters, const ModulePart& part,
                           const ParameterSource& source) {
  const Parameter& parameter = named(parameters, part.module + ".bias");
  const Interval own = elements_of_part(parameter, part);
  std::vector<float> values(static_cast<size_t>(elements_of(parameter)));
  source(parameter, {0, elements_of(parameter)}, values.data());
  return {values.begin() + own.begin, values.begin() + own.end};
}

}  // namespace

MultipliedKernels::MultipliedKernels(const Graph& graph, const Op& op, const ParameterSource& source)
    : channels_(output_channels(graph, op)),
      transposed_(op.convolution.product.transposes_second),
      scale_(op.convolution.scale) {
  const KernelProduct& product = op.convolution.product;
  const std::vector<Parameter> parameters = parameters_of(graph, op);
  first_ = kernel_of(parameters, product.first, source);
  second_ = kernel_of(parameters, product.second, source);
  first_bias_ = bias_of(parameters, product.first, source);
  second_bias_ = bias_of(parameters, product.second, source);
  if (transposed_) std::fill(second_bias_.begin(), second_bias_.end(), 0.0f);
}

int64_t MultipliedKernels::kernel_bytes(const Graph& graph, const Op& op) {
  if (op.convolution.product.empty()) return 0;
  const int64_t channels = output_channels(graph, op);
  return 2 * channels * channels * int64_t{sizeof(float)};
}

void MultipliedKernels::read_row(int64_t output, const Interval& inputs, float* out) const {
  std::vector<double> sums(static_cast<size_t>(inputs.length()), 0.0);
  for (int64_t between = 0; between < channels_; ++between) {
    const double factor = second(output, between);
    const float* row = first_.get() + between * channels_ + inputs.begin;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += factor * double(row[i]);
  }
  for (size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<float>(sums[i] * scale_);
}

void MultipliedKernels::read_bias(float* out) const {
  for (int64_t output = 0; output < channels_; ++output) {
    double sum = second_bias_[static_cast<size_t>(output)];
    for (int64_t between = 0; between < channels_; ++between)
      sum += double(second(output, between)) * double(first_bias_[static_cast<size_t>(between)]);
    out[output] = static_cast<float>(sum * scale_);
  }
}

void sum_phases(const float* taps, float* phases) {
  double half[4][3];
  for (int64_t x = 0; x < 3; ++x) {
    const double a = taps[x], b = taps[3 + x], c = taps[6 + x];
    half[0][x] = a;
    half[1][x] = b + c;
    half[2][x] = a + b;
    half[3][x] = c;
  }
  for (int64_t y = 0; y < 4; ++y) {
    const double* row = half[y];
    phases[y * 4] = static_cast<float>(row[0]);
    phases[y * 4 + 1] = static_cast<float>(row[1] + row[2]);
    phases[y * 4 + 2] = static_cast<float>(row[0] + row[1]);
    phases[y * 4 + 3] = static_cast<float>(row[2]);
  }
}

bool packs_on_gpu(const Graph& graph, const Op& op) {
  const ConvolutionTraits& traits = op.convolution;
  const KernelShape shape = kernel_shape(graph, op);
  if (traits.shortcut || !traits.batch_norm.empty() || !traits.mix_factor.empty()) return false;
  if (traits.product.empty() && (traits.scale != 1 || traits.shift != 0)) return false;
  if (traits.stored_order != StoredOrder::channel_row_column) return false;
  if (traits.frames.several() || traits.stacks_past) return false;
  if (shape.upsamples && !traits.stacked.empty()) return false;
  const bool sums_frames =
      traits.before_first == BeforeFirst::first_frame && traits.stored_frames > shape.frames;
  return !sums_frames;
}

FoldedConvolution::FoldedConvolution(const Graph& graph, const Op& op, const ParameterSource& source)
    : op_(op),
      source_(source),
      shape_(kernel_shape(graph, op)),
      stored_frames_(std::max<int64_t>(shape_.frames, op.convolution.stored_frames)),
      parameters_(parameters_of(graph, op)),
      modules_(std::max<size_t>(1, op.convolution.stacked.size())) {
  if (!op.convolution.product.empty()) {
    product_.emplace(graph, op, source);
    return;
  }
  if (op.convolution.shortcut) shortcut_weight_ = 1;
  if (!op.convolution.batch_norm.empty()) fold_batch_norm();
  if (!op.convolution.mix_factor.empty()) fold_mix_factor();
  if (op.convolution.scale != 1 || op.convolution.shift != 0) fold_scale();
}

/// Turns (x - mean) / sqrt(variance + epsilon) * weight + bias into a factor and a summand for each output.
void FoldedConvolution::fold_batch_norm() {
  const auto outputs = static_cast<size_t>(shape_.outputs);
  const size_t first = modules_ * (op_.convolution.bias ? 2 : 1);
  const auto read = [&](size_t number) {
    std::vector<float> values(outputs);
    source_(parameters_[first + number], {0, shape_.outputs}, values.data());
    return values;
  };
  const std::vector<float> weight = read(0), bias = read(1), mean = read(2), variance = read(3);
  for (size_t o = 0; o < outputs; ++o) {
    scale_.push_back(double(weight[o]) / std::sqrt(double(variance[o]) + op_.epsilon));
    shift_.push_back(double(bias[o]) - double(mean[o]) * scale_.back());
  }
}

/// The input's share becomes the shortcut's weight. The convolution's share becomes a factor of each output.
void FoldedConvolution::fold_mix_factor() {
  float stored = 0;
  source_(parameters_.back(), {0, 1}, &stored);
  const double share = 1 / (1 + std::exp(-double(stored)));
  const bool mixes = op_.convolution.mixes_input;
  if (mixes) shortcut_weight_ = static_cast<float>(share);
  scale_.assign(static_cast<size_t>(shape_.outputs), mixes ? 1 - share : share);
  shift_.assign(scale_.size(), 0);
}

/// Applies the result's scale after all other factors.
void FoldedConvolution::fold_scale() {
  if (scale_.empty()) {
    scale_.assign(static_cast<size_t>(shape_.outputs), 1);
    shift_.assign(scale_.size(), 0);
  }
  for (double& scale : scale_) scale *= op_.convolution.scale;
  for (double& shift : shift_) shift *= op_.convolution.scale;
}

int64_t FoldedConvolution::stored_output(int64_t output) const {
  const FramesInChannels& frames = op_.convolution.frames;
  const int64_t side = op_.convolution.stored_side, channel = output / (side * side);
  const int64_t row = output / side % side, column = output % side;
  if (frames.several())
    return (((frames.first + channel % frames.outputs) % frames.made * side + row) * side + column) *
               (shape_.outputs / (side * side) / frames.outputs) +
           channel / frames.outputs;
  switch (op_.convolution.stored_order) {
    case StoredOrder::channel_row_column:
      return output;
    case StoredOrder::channel_column_row:
      return (channel * side + column) * side + row;
    case StoredOrder::row_column_channel:
      return (row * side + column) * (shape_.outputs / (side * side)) + channel;
  }
  throw std::logic_error("an order of stored outputs that is not listed");
}

int64_t FoldedConvolution::frame_of_input(int64_t output) const {
  const FramesInChannels& frames = op_.convolution.frames;
  const int64_t pixels = int64_t{op_.convolution.stored_side} * op_.convolution.stored_side;
  return (frames.first + output / pixels % frames.outputs) / frames.made;
}

/// Reads scaled taps in the model's order, [input][frame][row][column], from the module that has the output.
void FoldedConvolution::read_stored(int64_t output, const Interval& inputs, float* out) const {
  if (op_.convolution.stacks_past) return read_by_frame(output, inputs, out);
  const int64_t of_module = shape_.outputs / static_cast<int64_t>(modules_);
  const int64_t of_input = stored_frames_ * shape_.rows * shape_.columns;
  const int64_t begin = stored_output(output) % of_module * stored_inputs() * of_input;
  source_(parameters_[static_cast<size_t>(output / of_module)],
          {begin + inputs.begin * of_input, begin + inputs.end * of_input}, out);
  if (scale_.empty()) return;
  const double scale = scale_[static_cast<size_t>(output)];
  for (int64_t i = 0; i < inputs.length() * of_input; ++i) out[i] = static_cast<float>(out[i] * scale);
}

void FoldedConvolution::read_by_frame(int64_t output, const Interval& inputs, float* out) const {
  const int64_t held = op_.convolution.frames.inputs, taps = shape_.rows * shape_.columns;
  const int64_t stored = stored_inputs(), row = stored * 2 * taps, own = frame_of_input(output);
  const Interval channels{inputs.begin / held, (inputs.end - 1) / held + 1};
  std::fill_n(out, inputs.length() * stored_frames_ * taps, 0.0f);
  std::vector<float> of_frame(static_cast<size_t>(channels.length() * taps));
  for (const int64_t past : {0, 1}) {
    const int64_t begin = stored_output(output) * row + (past * stored + channels.begin) * taps;
    source_(parameters_.front(), {begin, begin + channels.length() * taps}, of_frame.data());
    // The frame before the first of a position is the last one of the position before.
    const int64_t frame = (own - past + held) % held, kernel_frame = stored_frames_ - (own < past ? 2 : 1);
    for (int64_t c = channels.begin; c < channels.end; ++c) {
      const int64_t input = c * held + frame;
      if (input < inputs.begin || input >= inputs.end) continue;
      std::copy_n(of_frame.data() + (c - channels.begin) * taps, taps,
                  out + ((input - inputs.begin) * stored_frames_ + kernel_frame) * taps);
    }
  }
}

void FoldedConvolution::read_taps(int64_t output, const Interval& inputs, float* out) const {
  if (product_) return product_->read_row(output, inputs, out);
  const int64_t stored_taps = shape_.rows * shape_.columns, taps = frame_taps();
  const int64_t frame_values = inputs.length() * taps;
  if (op_.convolution.frames.several() && !op_.convolution.stacks_past) {
    read_frames(output, inputs, out);
  } else if (stored_frames_ == 1 && !shape_.upsamples) {
    read_stored(output, inputs, out);
  } else {
    std::vector<float> stored(static_cast<size_t>(inputs.length() * stored_frames_ * stored_taps));
    std::vector<float> frame_of_kernel(static_cast<size_t>(stored_taps));
    read_stored(output, inputs, stored.data());
    const float* from = stored.data();
    for (int64_t input = 0; input < inputs.length(); ++input, from += stored_frames_ * stored_taps) {
      for (int64_t frame = 0; frame < shape_.frames; ++frame) {
        float* to = out + frame * frame_values + input * taps;
        take_frame(from, frame, shape_.upsamples ? frame_of_kernel.data() : to);
        if (shape_.upsamples) sum_phases(frame_of_kernel.data(), to);
      }
    }
  }
  if (shortcut_weight_ != 0) add_shortcut(output, inputs, out + shape_.frames_before() * frame_values);
}

/// A pair of frames that are further apart than the kernel reaches has zeros.
void FoldedConvolution::read_frames(int64_t output, const Interval& inputs, float* out) const {
  const int64_t frames = op_.convolution.frames.inputs, taps = shape_.rows * shape_.columns;
  const Interval channels{inputs.begin / frames, (inputs.end + frames - 1) / frames};
  std::vector<float> stored(static_cast<size_t>(channels.length() * stored_frames_ * taps));
  read_stored(output, channels, stored.data());
  std::vector<float> kernel(static_cast<size_t>(taps));
  for (int64_t input = inputs.begin; input < inputs.end; ++input, out += frame_taps()) {
    const int64_t frame = input % frames - frame_of_input(output) + stored_frames_ / 2;
    const float* from = stored.data() + ((input / frames - channels.begin) * stored_frames_ + frame) * taps;
    float* to = shape_.upsamples ? kernel.data() : out;
    if (frame >= 0 && frame < stored_frames_)
      std::copy_n(from, taps, to);
    else
      std::fill_n(to, taps, 0.0f);
    if (shape_.upsamples) sum_phases(to, out);
  }
}

void FoldedConvolution::take_frame(const float* from, int64_t frame, float* taps) const {
  const int64_t count = shape_.rows * shape_.columns;
  const int64_t earlier = stored_frames_ - shape_.frames - op_.convolution.stored_ahead;
  std::copy_n(from + (earlier + frame) * count, count, taps);
  if (frame > 0 || shape_.before_first != BeforeFirst::first_frame) return;
  for (int64_t tap = 0; tap < count; ++tap) {
    double sum = taps[tap];
    for (int64_t before = 0; before < earlier; ++before) sum += from[before * count + tap];
    taps[tap] = static_cast<float>(sum);
  }
}

void FoldedConvolution::add_shortcut(int64_t output, const Interval& inputs, float* own_frame) const {
  const auto add = [&](int64_t input, int64_t tap) {
    if (input >= inputs.begin && input < inputs.end)
      own_frame[(input - inputs.begin) * frame_taps() + tap] += shortcut_weight_;
  };
  const int64_t of_group = shape_.outputs / shape_.groups, own = stored_output(output) % of_group;
  if (!shape_.upsamples) {
    const int64_t middle = shape_.rows / 2 * shape_.columns + shape_.columns / 2;
    const int64_t repeats = stored_outputs() / shape_.groups / stored_inputs();
    const int64_t channel = op_.convolution.tiled_shortcut ? own % stored_inputs() : own / repeats;
    return add(channel * op_.convolution.frames.inputs + frame_of_input(output), middle);
  }
  // Each channel of each phase is an input channel, repeated `repeats` times. The even phase's second tap and
  // the odd one's first read the position that they repeat.
  const int64_t repeats = 4 * of_group / group_inputs();
  for (int64_t y = 0; y < 2; ++y) {
    for (int64_t x = 0; x < 2; ++x) add((4 * own + 2 * y + x) / repeats, (y + 1) * 4 + x + 1);
  }
}

void FoldedConvolution::read_bias(float* out, bool with_shift) const {
  if (product_) return product_->read_bias(out);
  std::fill_n(out, shape_.outputs, 0.0f);
  const int64_t of_module = stored_outputs() / static_cast<int64_t>(modules_);
  for (size_t module = 0; op_.convolution.bias && module < modules_; ++module)
    source_(parameters_[modules_ + module], {0, of_module}, out + static_cast<int64_t>(module) * of_module);
  if (op_.convolution.stored_order != StoredOrder::channel_row_column || op_.convolution.frames.several()) {
    const std::vector<float> stored(out, out + shape_.outputs);
    for (int64_t o = 0; o < shape_.outputs; ++o) out[o] = stored[static_cast<size_t>(stored_output(o))];
  }
  if (scale_.empty()) return;
  const double shift = with_shift ? op_.convolution.shift : 0;
  for (int64_t o = 0; o < shape_.outputs; ++o) {
    const auto i = static_cast<size_t>(o);
    out[o] = static_cast<float>(out[o] * scale_[i] + (shift_[i] + shift));
  }
}

}  // namespace headroom
