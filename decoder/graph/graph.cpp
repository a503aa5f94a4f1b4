#include "decoder/graph/graph.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

/// PyTorch's default for batch norms.
constexpr double kBatchNormEpsilon = 1e-5;

Axes<int32_t> times(const Axes<int32_t>& scale, const Axes<int32_t>& factor) {
  return per_axis([](int32_t a, int32_t b) { return a * b; }, scale, factor);
}

}  // namespace

int64_t bytes_per_element(Dtype dtype) {
  return dtype == Dtype::fp32 ? 4 : 2;
}

const char* name_of(OpKind kind) {
  switch (kind) {
#define X(name)      \
  case OpKind::name: \
    return #name;
    HEADROOM_OPERATIONS(X) HEADROOM_MOVES(X)
#undef X
  }
  return "?";
}

const char* name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return "fp32";
    case Dtype::bf16:
      return "bf16";
    case Dtype::fp16:
      return "fp16";
  }
  return "?";
}

Dtype parse_dtype(const std::string& text, const std::string& option) {
  constexpr std::pair<Dtype, const char*> kNamesInTorch[] = {
      {Dtype::fp32, "float32"}, {Dtype::bf16, "bfloat16"}, {Dtype::fp16, "float16"}};
  const std::string name = lower_case(text.substr(text.starts_with("torch.") ? 6 : 0));
  for (const auto& [dtype, in_torch] : kNamesInTorch) {
    if (name == name_of(dtype) || name == in_torch) return dtype;
  }
  throw InputError(option + ": expected fp32, bf16 or fp16, found '" + text + "'");
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::none:
      return "none";
    case Activation::silu:
      return "silu";
    case Activation::relu:
      return "relu";
    case Activation::gelu:
      return "gelu";
    case Activation::mish:
      return "mish";
    case Activation::clamp:
      return "clamp";
    case Activation::soft_clamp:
      return "soft clamp";
    case Activation::to_unit:
      return "to unit";
  }
  return "none";
}

const char* name_of(Edges edges) {
  switch (edges) {
    case Edges::zeros:
      return "zeros";
    case Edges::replicate:
      return "replicate";
    case Edges::reflect:
      return "reflect";
  }
  return "?";
}

double attention_scale(int64_t channels) {
  return 1 / std::sqrt(double(channels));
}

TensorId Graph::append(Op op, int64_t channels, Axes<int32_t> scale, bool statistics) {
  if (tensors_.empty()) throw std::logic_error("the input comes first");
  const TensorId id{static_cast<int32_t>(tensors_.size())};
  const OpId op_id{static_cast<int32_t>(ops_.size())};
  op.output = id;
  for (TensorId input : op.inputs) readers_[index(input)].push_back(op_id);
  tensors_.push_back({op.name, channels, scale, statistics, op_id});
  readers_.emplace_back();
  ops_.push_back(std::move(op));
  return id;
}

TensorId Graph::add_latent(int64_t channels) {
  return add_input("latent", channels, {1, 1, 1});
}

TensorId Graph::add_picture(int64_t channels, Axes<int32_t> scale) {
  encodes_ = true;
  return add_input("picture", channels, scale);
}

TensorId Graph::add_input(const std::string& name, int64_t channels, Axes<int32_t> scale) {
  if (!tensors_.empty()) throw std::logic_error("one input only");
  tensors_.push_back({name, channels, scale});
  readers_.emplace_back();
  return input();
}

TensorId Graph::conv(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> kernel,
                     const ConvolutionTraits& traits) {
  const Axes<int32_t> scale = tensor(x).scale;
  const int64_t inputs = tensor(x).channels;
  if (inputs % traits.groups != 0 || channels % traits.groups != 0)
    throw std::logic_error(name + ": channels cannot be cut into its groups");
  if (traits.shortcut && (traits.groups != 1 || channels % inputs != 0 || traits.scale != 1))
    throw std::logic_error(name + ": its input cannot be repeated into its output");
  if (traits.frames_ahead < 0 || traits.frames_ahead >= kernel.t ||
      (traits.frames_ahead > 0 && traits.before_first == BeforeFirst::zeros_instead_of_first_frame))
    throw std::logic_error(name + ": a kernel over later frames pads both ends of the clip alike");
  if (kernel.t > 1 && traits.groups != 1)
    throw std::logic_error(name + ": convolutions over the time have one group");
  const int64_t pixels = int64_t{traits.stored_side} * traits.stored_side;
  const bool folds = !traits.stacked.empty() || !traits.batch_norm.empty();
  if (pixels > 1 && (channels % pixels != 0 || folds))
    throw std::logic_error(name + ": its outputs cannot be put in another order");
  const FramesInChannels& held = traits.frames;
  const bool cuts = inputs % held.inputs == 0 && channels % (held.outputs * pixels) == 0;
  const bool plain = pixels == 1 && !traits.shortcut && traits.scale == 1;
  if ((held.several() || traits.stacks_past) &&
      (!cuts || folds || traits.groups != 1 ||
       (traits.stacks_past ? kernel.t != 2 || !plain : kernel.t != 1)))
    throw std::logic_error(name + ": its channels cannot hold these frames");
  if (!traits.mix_factor.empty() && traits.mixes_input && channels != inputs)
    throw std::logic_error(name + ": its input cannot be mixed into its output");
  if (!traits.product.empty() && (kernel != Axes<int32_t>{1, 1, 1} || channels != inputs || folds ||
                                  traits.groups != 1 || traits.shortcut || pixels > 1))
    throw std::logic_error(name + ": only plain 1x1 convolutions can be multiplied");
  return append({.name = name,
                 .kind = OpKind::conv,
                 .inputs = {x},
                 .kernel = kernel,
                 .groups = traits.groups,
                 .epsilon = traits.batch_norm.empty() ? 0 : kBatchNormEpsilon,
                 .activation = traits.activation,
                 .convolution = traits},
                channels, scale);
}

TensorId Graph::strided_conv(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> kernel,
                             Axes<int32_t> stride, const ConvolutionTraits& traits) {
  const Axes<int32_t> scale = tensor(x).scale;
  const bool divides = scale.t % stride.t == 0 && scale.y % stride.y == 0 && scale.x % stride.x == 0;
  if (!divides || traits.groups != 1 || traits.shortcut || traits.frames_ahead > 0 || kernel.t < stride.t ||
      (traits.keeps_first_frame &&
       (stride.t == 1 || stride.y * stride.x != 1 || channels != tensor(x).channels)))
    throw std::logic_error(name + ": a convolution with this stride is not supported");
  const TensorId id = conv(name, x, channels, kernel, traits);
  ops_.back().stride = stride;
  tensors_.back().scale = {scale.t / stride.t, scale.y / stride.y, scale.x / stride.x};
  return id;
}

TensorId Graph::upsampled_conv(const std::string& name, TensorId x, int64_t channels,
                               const ConvolutionTraits& traits, int32_t frames) {
  const Axes<int32_t> factor{1, 2, 2};
  const Axes<int32_t> scale = times(tensor(x).scale, factor);
  if (traits.groups != 1) throw std::logic_error(name + ": upsampled convolutions have one group");
  if (traits.shortcut && 4 * channels % tensor(x).channels != 0)
    throw std::logic_error(name + ": its input cannot be repeated into its output");
  return append({.name = name,
                 .kind = OpKind::conv,
                 .inputs = {x},
                 .kernel = {frames, 3, 3},
                 .factor = factor,
                 .groups = 1,
                 .activation = traits.activation,
                 .convolution = traits},
                channels, scale);
}

TensorId Graph::upsample(const std::string& name, TensorId x, Axes<int32_t> factor) {
  const Axes<int32_t> scale = times(tensor(x).scale, factor);
  const int64_t channels = tensor(x).channels;
  return append({.name = name, .kind = OpKind::upsample, .inputs = {x}, .factor = factor}, channels, scale);
}

TensorId Graph::statistics(const std::string& name, TensorId x, int32_t groups, double epsilon,
                           bool by_frame) {
  return append({.name = name,
                 .kind = OpKind::statistics,
                 .inputs = {x},
                 .groups = groups,
                 .epsilon = epsilon,
                 .by_frame = by_frame},
                groups, {0, 0, 0}, true);
}

TensorId Graph::statistics_of_runs(const std::string& name, TensorId x, int32_t groups, double epsilon,
                                   int32_t run_frames) {
  const TensorId id = statistics(name, x, groups, epsilon, true);
  ops_.back().run_frames = run_frames;
  return id;
}

TensorId Graph::norm(const std::string& name, TensorId x, TensorId statistics, Activation activation,
                     int32_t frames_in_channels) {
  const Tensor from = tensor(x);
  const auto groups = static_cast<int32_t>(tensor(statistics).channels);
  return append({.name = name,
                 .kind = OpKind::norm,
                 .inputs = {x, statistics},
                 .groups = groups,
                 .activation = activation,
                 .frames_in_channels = frames_in_channels},
                from.channels, from.scale);
}

TensorId Graph::add(const std::string& name, TensorId a, TensorId b, Activation activation) {
  const Tensor from = tensor(a);
  if (from.channels != tensor(b).channels || from.scale != tensor(b).scale) {
    throw std::logic_error("add needs two tensors of one shape");
  }
  return append({.name = name, .kind = OpKind::add, .inputs = {a, b}, .activation = activation},
                from.channels, from.scale);
}

TensorId Graph::attention(const std::string& name, TensorId q, TensorId k, TensorId v,
                          AttentionFrames frames) {
  const Tensor from = tensor(q);
  return append({.name = name, .kind = OpKind::attention, .inputs = {q, k, v}, .frames = frames},
                tensor(v).channels, from.scale);
}

TensorId Graph::self_attention(const std::string& name, TensorId x, const AttentionModules& modules) {
  if (modules.frames == AttentionFrames::interleaved)
    throw std::logic_error(name + ": interleaved frames mix channels, so keys differ from the input");
  const int64_t channels = tensor(x).channels;
  ConvolutionTraits traits{.over_frames = modules.over_frames, .linear = modules.linear};
  traits.product.first = modules.q;
  traits.product.second = modules.k;
  traits.product.transposes_second = true;
  traits.scale = attention_scale(channels);
  const TensorId queries = conv(name + ".to_q", x, channels, {1, 1, 1}, traits);
  const TensorId mixed = attention(name + ".attention", queries, x, x, modules.frames);
  traits.product.first = modules.v;
  traits.product.second = {};
  traits.product.second.module = modules.out;
  traits.product.transposes_second = false;
  traits.scale = 1;
  return conv(modules.out, mixed, channels, {1, 1, 1}, traits);
}

TensorId Graph::rms_norm(const std::string& name, TensorId x, double epsilon, Activation activation,
                         int32_t gamma_axes) {
  const Tensor from = tensor(x);
  return append({.name = name,
                 .kind = OpKind::rms_norm,
                 .inputs = {x},
                 .epsilon = epsilon,
                 .activation = activation,
                 .gamma_axes = gamma_axes},
                from.channels, from.scale);
}

TensorId Graph::layer_norm(const std::string& name, TensorId x, double epsilon, Activation activation) {
  const TensorId id = rms_norm(name, x, epsilon, activation);
  ops_.back().centred = true;
  return id;
}

TensorId Graph::interpolate(const std::string& name, TensorId x, Axes<int32_t> factor) {
  const Tensor from = tensor(x);
  return append({.name = name, .kind = OpKind::interpolate, .inputs = {x}, .factor = factor}, from.channels,
                times(from.scale, factor));
}

TensorId Graph::unfold_frames(const std::string& name, TensorId x, TensorId rest) {
  const Tensor from = tensor(x);
  constexpr Axes<int32_t> kTwice{2, 1, 1};
  if (tensor(rest).channels != 2 * from.channels || tensor(rest).scale != from.scale)
    throw std::logic_error(name + ": expected twice the channels of its first frame's tensor");
  return append({.name = name, .kind = OpKind::unfold_frames, .inputs = {x, rest}, .factor = kTwice},
                from.channels, times(from.scale, kTwice));
}

TensorId Graph::gate(const std::string& name, TensorId x) {
  const Tensor from = tensor(x);
  if (from.channels % 2 != 0) throw std::logic_error(name + ": a gate needs an even number of channels");
  return append({.name = name, .kind = OpKind::gate, .inputs = {x}}, from.channels / 2, from.scale);
}

TensorId Graph::modulate(const std::string& name, TensorId x, TensorId scale_and_shift,
                         Activation activation) {
  const Tensor from = tensor(x);
  if (tensor(scale_and_shift).channels != 2 * from.channels || tensor(scale_and_shift).scale != from.scale)
    throw std::logic_error(name + ": expected a scale and a shift for each value");
  return append(
      {.name = name, .kind = OpKind::modulate, .inputs = {x, scale_and_shift}, .activation = activation},
      from.channels, from.scale);
}

TensorId Graph::activate(const std::string& name, TensorId x, Activation activation) {
  const Tensor from = tensor(x);
  return append({.name = name, .kind = OpKind::activate, .inputs = {x}, .activation = activation},
                from.channels, from.scale);
}

TensorId Graph::depth_to_space(const std::string& name, TensorId x, Axes<int32_t> factor) {
  const int64_t pixels = int64_t{factor.y} * factor.x, channels = tensor(x).channels;
  if (channels % pixels != 0) throw std::logic_error(name + ": channels cannot be cut into pixels");
  return repeated_depth_to_space(name, x, channels / pixels, factor, 1);
}

TensorId Graph::depth_to_frames(const std::string& name, TensorId x, Axes<int32_t> factor) {
  const int64_t positions = int64_t{factor.t} * factor.y * factor.x;
  return repeated_depth_to_space(name, x, tensor(x).channels / positions, factor, factor.t);
}

TensorId Graph::repeated_depth_to_space(const std::string& name, TensorId x, int64_t channels,
                                        Axes<int32_t> factor, int32_t frames_in_depth, DepthOrder order) {
  const Tensor from = tensor(x);
  const int64_t pixels = int64_t{frames_in_depth} * factor.y * factor.x;
  const int64_t repeats = channels * pixels / from.channels;
  if (repeats * from.channels != channels * pixels || (factor.t != 1 && factor.t != frames_in_depth))
    throw std::logic_error(name + ": channels cannot be repeated into pixels");
  // pixel_first splits the channels evenly among pixels, for the first frame among fewer pixels. Each channel
  // repeats equally often.
  const bool cut = from.channels % pixels == 0 && (repeats == 1 || repeats % frames_in_depth == 0);
  if (order == DepthOrder::pixel_first && !cut)
    throw std::logic_error(name + ": channels cannot be cut into pixels");
  return append({.name = name,
                 .kind = OpKind::depth_to_space,
                 .inputs = {x},
                 .factor = factor,
                 .frames_in_depth = frames_in_depth,
                 .depth_order = order},
                channels, times(from.scale, factor));
}

TensorId Graph::space_to_depth(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> stride,
                               const Fold& fold) {
  const Tensor from = tensor(x);
  const int64_t folded = from.channels * fold.frames * stride.y * stride.x;
  const bool divides =
      from.scale.t % stride.t == 0 && from.scale.y % stride.y == 0 && from.scale.x % stride.x == 0;
  if (!divides || folded % channels != 0 || (stride.t != 1 && stride.t != fold.frames))
    throw std::logic_error(name + ": positions cannot be folded into channels");
  return append({.name = name, .kind = OpKind::space_to_depth, .inputs = {x}, .stride = stride, .fold = fold},
                channels, {from.scale.t / stride.t, from.scale.y / stride.y, from.scale.x / stride.x});
}

TensorId Graph::repeat_frames(const std::string& name, TensorId x) {
  return repeated_depth_to_space(name, x, tensor(x).channels, {2, 1, 1}, 2);
}

TensorId Graph::key_value_sums(const std::string& name, const std::vector<TensorId>& inputs,
                               int64_t head_channels) {
  int64_t heads = 0;
  for (TensorId input : inputs) {
    if (tensor(input).channels % (3 * head_channels) != 0 ||
        tensor(input).scale != tensor(inputs.front()).scale)
      throw std::logic_error(name + ": expected whole heads at one resolution");
    heads += tensor(input).channels / (3 * head_channels);
  }
  return append(
      {.name = name, .kind = OpKind::key_value_sums, .inputs = inputs, .groups = static_cast<int32_t>(heads)},
      heads * head_channels * (head_channels + 1), {0, 0, 0}, true);
}

TensorId Graph::linear_attention(const std::string& name, const std::vector<TensorId>& inputs, TensorId sums,
                                 double epsilon) {
  int64_t channels = 0;
  for (TensorId input : inputs) channels += tensor(input).channels / 3;
  const Axes<int32_t> scale = tensor(inputs.front()).scale;
  Op op{.name = name, .kind = OpKind::linear_attention, .inputs = inputs, .epsilon = epsilon};
  op.inputs.push_back(sums);
  op.groups = producer(sums)->groups;
  return append(std::move(op), channels, scale);
}

const Op* Graph::producer(TensorId id) const {
  const OpId op_id = tensor(id).producer;
  return op_id == OpId{-1} ? nullptr : &op(op_id);
}

TensorId Graph::find_tensor(const std::string& name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& t) { return t.name == name; });
  return TensorId{found == tensors_.end() ? -1 : static_cast<int32_t>(found - tensors_.begin())};
}

OpId Graph::find_op(const std::string& name) const {
  const auto found = std::find_if(ops_.begin(), ops_.end(), [&](const Op& o) { return o.name == name; });
  return OpId{found == ops_.end() ? -1 : static_cast<int32_t>(found - ops_.begin())};
}

}  // namespace headroom
