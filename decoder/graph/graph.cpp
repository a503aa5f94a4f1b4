#include "decoder/graph/graph.h"

#include <algorithm>
#include <stdexcept>

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

/// Of every batch norm that PyTorch makes unless told otherwise.
constexpr double kBatchNormEpsilon = 1e-5;

int64_t floor_divide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

Axes<int32_t> times(const Axes<int32_t>& scale, const Axes<int32_t>& factor) {
  return per_axis([](int32_t a, int32_t b) { return a * b; }, scale, factor);
}

/// Taps of a convolution along one axis; over nearest upsampling those of one phase.
int32_t taps_along(int32_t kernel, int32_t factor) {
  return (kernel + factor - 1) / factor;
}

double taps(const Op& op) {
  const auto along = per_axis(taps_along, op.kernel, op.factor);
  return double(along.t) * along.y * along.x;
}

}  // namespace

int64_t bytes_per_element(Dtype dtype) {
  return dtype == Dtype::fp32 ? 4 : 2;
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

Dtype parse_dtype(const std::string& text) {
  for (Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) {
    if (text == name_of(dtype)) return dtype;
  }
  throw InputError("dtype: expected fp32, bf16 or fp16, found '" + text + "'");
}

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::conv:
      return "conv";
    case OpKind::upsample:
      return "upsample";
    case OpKind::statistics:
      return "statistics";
    case OpKind::norm:
      return "norm";
    case OpKind::add:
      return "add";
    case OpKind::attention:
      return "attention";
    case OpKind::pixel_norm:
      return "pixel_norm";
    case OpKind::gate:
      return "gate";
    case OpKind::shuffle:
      return "shuffle";
    case OpKind::key_value_sums:
      return "key_value_sums";
    case OpKind::linear_attention:
      return "linear_attention";
  }
  return "?";
}

TensorId Graph::append(Op op, int64_t channels, Axes<int32_t> scale, bool statistics) {
  if (tensors_.empty()) throw std::logic_error("the latent comes first");
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
  if (!tensors_.empty()) throw std::logic_error("one latent only");
  tensors_.push_back({"latent", channels});
  readers_.emplace_back();
  return TensorId{0};
}

TensorId Graph::conv(const std::string& name, TensorId x, int64_t channels, Axes<int32_t> kernel,
                     const ConvolutionTraits& traits) {
  const Axes<int32_t> scale = tensor(x).scale;
  const int64_t inputs = tensor(x).channels;
  if (inputs % traits.groups != 0 || channels % traits.groups != 0)
    throw std::logic_error(name + ": channels cannot be cut into its groups");
  if (traits.shortcut && (traits.groups != 1 || channels % inputs != 0))
    throw std::logic_error(name + ": its input cannot be repeated into its output");
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

TensorId Graph::upsampled_conv(const std::string& name, TensorId x, int64_t channels,
                               const ConvolutionTraits& traits) {
  const Axes<int32_t> factor{1, 2, 2};
  const Axes<int32_t> scale = times(tensor(x).scale, factor);
  if (traits.groups != 1) throw std::logic_error(name + ": upsampled convolutions have one group");
  if (traits.shortcut && 4 * channels % tensor(x).channels != 0)
    throw std::logic_error(name + ": its input cannot be repeated into its output");
  return append({.name = name,
                 .kind = OpKind::conv,
                 .inputs = {x},
                 .kernel = {1, 3, 3},
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

TensorId Graph::statistics(const std::string& name, TensorId x, int32_t groups, double epsilon) {
  return append(
      {.name = name, .kind = OpKind::statistics, .inputs = {x}, .groups = groups, .epsilon = epsilon}, groups,
      {0, 0, 0}, true);
}

TensorId Graph::norm(const std::string& name, TensorId x, TensorId statistics, Activation activation) {
  const Tensor from = tensor(x);
  const auto groups = static_cast<int32_t>(tensor(statistics).channels);
  return append({.name = name,
                 .kind = OpKind::norm,
                 .inputs = {x, statistics},
                 .groups = groups,
                 .activation = activation},
                from.channels, from.scale);
}

TensorId Graph::add(const std::string& name, TensorId a, TensorId b) {
  const Tensor from = tensor(a);
  if (from.channels != tensor(b).channels || from.scale != tensor(b).scale) {
    throw std::logic_error("add needs two tensors of one shape");
  }
  return append({.name = name, .kind = OpKind::add, .inputs = {a, b}}, from.channels, from.scale);
}

TensorId Graph::attention(const std::string& name, TensorId q, TensorId k, TensorId v) {
  const Tensor from = tensor(q);
  return append({.name = name, .kind = OpKind::attention, .inputs = {q, k, v}}, tensor(v).channels,
                from.scale);
}

TensorId Graph::pixel_norm(const std::string& name, TensorId x, double epsilon, Activation activation) {
  const Tensor from = tensor(x);
  return append(
      {.name = name, .kind = OpKind::pixel_norm, .inputs = {x}, .epsilon = epsilon, .activation = activation},
      from.channels, from.scale);
}

TensorId Graph::gate(const std::string& name, TensorId x) {
  const Tensor from = tensor(x);
  if (from.channels % 2 != 0) throw std::logic_error(name + ": a gate needs an even number of channels");
  return append({.name = name, .kind = OpKind::gate, .inputs = {x}}, from.channels / 2, from.scale);
}

TensorId Graph::shuffle(const std::string& name, TensorId x, Axes<int32_t> factor) {
  const Tensor from = tensor(x);
  const int64_t pixels = int64_t{factor.y} * factor.x;
  if (factor.t != 1 || from.channels % pixels != 0)
    throw std::logic_error(name + ": channels cannot be cut into pixels");
  return append({.name = name, .kind = OpKind::shuffle, .inputs = {x}, .factor = factor},
                from.channels / pixels, times(from.scale, factor));
}

TensorId Graph::key_value_sums(const std::string& name, const std::vector<TensorId>& pieces,
                               int64_t head_channels) {
  int64_t heads = 0;
  for (TensorId piece : pieces) {
    if (tensor(piece).channels % (3 * head_channels) != 0 ||
        tensor(piece).scale != tensor(pieces.front()).scale)
      throw std::logic_error(name + ": expected whole heads at one resolution");
    heads += tensor(piece).channels / (3 * head_channels);
  }
  return append(
      {.name = name, .kind = OpKind::key_value_sums, .inputs = pieces, .groups = static_cast<int32_t>(heads)},
      heads * head_channels * (head_channels + 1), {0, 0, 0}, true);
}

TensorId Graph::linear_attention(const std::string& name, const std::vector<TensorId>& pieces, TensorId sums,
                                 double epsilon) {
  int64_t channels = 0;
  for (TensorId piece : pieces) channels += tensor(piece).channels / 3;
  const Axes<int32_t> scale = tensor(pieces.front()).scale;
  Op op{.name = name, .kind = OpKind::linear_attention, .inputs = pieces, .epsilon = epsilon};
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

Halo reach(const Op& op, size_t) {
  if (op.kind != OpKind::conv) return {};
  const auto half =
      per_axis([](int32_t k, int32_t factor) { return (k / 2 + factor - 1) / factor; }, op.kernel, op.factor);
  return {half, half};
}

bool is_barrier(const Op& op, size_t input) {
  return op.kind == OpKind::statistics || op.kind == OpKind::key_value_sums ||
         (op.kind == OpKind::attention && input > 0) || (op.kind == OpKind::norm && input == 1) ||
         (op.kind == OpKind::linear_attention && input + 1 == op.inputs.size());
}

Region needed_region(const Graph& graph, const Op& op, size_t input, const Region& output) {
  (void)graph;
  const Halo halo = reach(op, input);
  return per_axis(
      [](const Interval& out, int32_t factor, int32_t before, int32_t after) {
        return Interval{floor_divide(out.begin, factor) - before, -floor_divide(-out.end, factor) + after};
      },
      output, op.factor, halo.before, halo.after);
}

Extent extent_of(const Tensor& tensor, const Extent& latent) {
  return per_axis([](int64_t length, int32_t scale) { return length * scale; }, latent, tensor.scale);
}

int64_t bytes_of(const Tensor& tensor, const Extent& latent, int64_t batch, Dtype dtype) {
  // Two floats, or a sum in double.
  if (tensor.statistics) return batch * tensor.channels * 2 * int64_t{sizeof(float)};
  return batch * tensor.channels * positions(extent_of(tensor, latent)) * bytes_per_element(dtype);
}

std::vector<Parameter> parameters_of(const Graph& graph, const Op& op) {
  const int64_t channels = graph.tensor(op.output).channels;
  const auto per_channel = [&](const std::string& module, std::initializer_list<const char*> names) {
    std::vector<Parameter> list;
    for (const char* name : names) list.push_back({module + name, {channels}});
    return list;
  };
  if (op.kind == OpKind::norm || op.kind == OpKind::pixel_norm)
    return per_channel(op.name, {".weight", ".bias"});
  if (op.kind != OpKind::conv) return {};
  const ConvolutionTraits& traits = op.convolution;
  const std::vector<std::string> modules =
      traits.stacked.empty() ? std::vector<std::string>{op.name} : traits.stacked;
  std::vector<int64_t> shape{channels / static_cast<int64_t>(modules.size()),
                             graph.tensor(op.inputs[0]).channels / op.groups};
  if (op.kernel.t > 1) shape.push_back(op.kernel.t);
  shape.insert(shape.end(), {op.kernel.y, op.kernel.x});
  std::vector<Parameter> list;
  for (const std::string& module : modules) list.push_back({module + ".weight", shape});
  if (traits.bias) list.push_back({op.name + ".bias", {channels}});
  if (!traits.batch_norm.empty()) {
    for (Parameter& parameter :
         per_channel(traits.batch_norm, {".weight", ".bias", ".running_mean", ".running_var"}))
      list.push_back(std::move(parameter));
  }
  return list;
}

int64_t parameter_elements(const Graph& graph, const Op& op) {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters_of(graph, op)) {
    int64_t product = 1;
    for (int64_t length : parameter.shape) product *= length;
    sum += product;
  }
  return sum;
}

int64_t parameter_elements(const Graph& graph) {
  int64_t sum = 0;
  for (const Op& op : graph.ops()) sum += parameter_elements(graph, op);
  return sum;
}

double flops_per_position(const Graph& graph, const Op& op, const Extent& latent) {
  const auto channels = double(graph.tensor(op.output).channels);
  const auto input_channels = double(graph.tensor(op.inputs[0]).channels);
  switch (op.kind) {
    case OpKind::conv:
      return 2 * taps(op) * input_channels / op.groups * channels;
    case OpKind::attention: {
      const auto keys = double(positions(extent_of(graph.tensor(op.inputs[1]), latent)));
      return 4 * keys * channels;
    }
    case OpKind::norm:
      return 8 * channels;
    case OpKind::add:
      return channels;
    case OpKind::statistics:
      return 3 * input_channels;
    case OpKind::pixel_norm:
      return 5 * channels;
    case OpKind::gate:
      return 5 * channels;
    case OpKind::key_value_sums:
    case OpKind::linear_attention: {
      const auto width = double(head_channels(graph, op));
      return 2 * double(op.groups) * width * (width + 1);
    }
    case OpKind::upsample:
    case OpKind::shuffle:
      return 0;
  }
  return 0;
}

int64_t head_channels(const Graph& graph, const Op& op) {
  int64_t channels = 0;
  for (TensorId input : op.inputs)
    channels += graph.tensor(input).statistics ? 0 : graph.tensor(input).channels;
  return channels / (3 * op.groups);
}

bool is_cheap(const Op& op) {
  return op.kind == OpKind::norm || op.kind == OpKind::pixel_norm || op.kind == OpKind::upsample ||
         op.kind == OpKind::shuffle;
}

TensorId measured_tensor(const Op& op) {
  return op.kind == OpKind::statistics || op.kind == OpKind::key_value_sums ? op.inputs[0] : op.output;
}

std::vector<int32_t> barrier_depths(const Graph& graph) {
  std::vector<int32_t> depths(graph.tensors().size(), 0);
  for (const Op& op : graph.ops()) {
    int32_t depth = 0;
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const Tensor& input = graph.tensor(op.inputs[i]);
      // Statistics have crossed their barrier where they are measured.
      const bool crossed = (is_barrier(op, i) && !input.statistics) || input.rests;
      depth = std::max(depth, depths[index(op.inputs[i])] + (crossed ? 1 : 0));
    }
    depths[index(op.output)] = depth;
  }
  return depths;
}

}  // namespace headroom
