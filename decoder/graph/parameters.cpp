#include "decoder/graph/parameters.h"

#include <algorithm>

#include "decoder/graph/geometry.h"

namespace headroom {
namespace {

/// Taps of a convolution along one axis. Over nearest upsampling, the taps of one phase.
int32_t taps_along(int32_t kernel, int32_t factor) {
  return (kernel + factor - 1) / factor;
}

double taps(const Op& op) {
  const auto along = per_axis(taps_along, op.kernel, op.factor);
  return double(along.t) * along.y * along.x;
}

}  // namespace

std::vector<Parameter> parameters_of(const Graph& graph, const Op& op) {
  const int64_t channels = graph.tensor(op.output).channels;
  const auto per_channel = [&](const std::string& module, std::initializer_list<const char*> names) {
    std::vector<Parameter> list;
    for (const char* name : names) list.push_back({module + name, {channels}});
    return list;
  };
  if (op.kind == OpKind::rms_norm && op.gamma_axes == kNoParameters) return {};
  if (op.kind == OpKind::rms_norm && op.gamma_axes >= 0) {
    std::vector<int64_t> shape(static_cast<size_t>(op.gamma_axes) + 1, 1);
    shape[0] = channels;
    return {{op.name + ".gamma", std::move(shape)}};
  }
  if (traits_of(op.kind).has_scale_and_bias) return per_channel(op.name, {".weight", ".bias"});
  if (op.kind != OpKind::conv) return {};
  const ConvolutionTraits& traits = op.convolution;
  const std::string own = traits.part_of.empty() ? op.name : traits.part_of;
  const std::vector<std::string> modules =
      traits.stacked.empty() ? std::vector<std::string>{own} : traits.stacked;
  std::vector<int64_t> shape{channels * traits.parts / static_cast<int64_t>(modules.size()),
                             graph.tensor(op.inputs[0]).channels / op.groups};
  const int32_t frames = std::max(op.kernel.t, traits.stored_frames);
  if (frames > 1 || traits.over_frames) shape.push_back(frames);
  shape.insert(shape.end(), {op.kernel.y, op.kernel.x});
  std::vector<Parameter> list;
  list.reserve(modules.size() + 1);
  for (const std::string& module : modules) list.push_back({module + ".weight", shape});
  if (traits.bias) list.push_back({own + ".bias", {channels * traits.parts}});
  if (!traits.batch_norm.empty()) {
    for (Parameter& parameter :
         per_channel(traits.batch_norm, {".weight", ".bias", ".running_mean", ".running_var"}))
      list.push_back(std::move(parameter));
  }
  if (!traits.mix_factor.empty()) list.push_back({traits.mix_factor, {1}});
  return list;
}

int64_t parameter_elements(const Graph& graph, const Op& op) {
  int64_t sum = 0;
  for (const Parameter& parameter : parameters_of(graph, op)) {
    int64_t product = 1;
    for (int64_t length : parameter.shape) product *= length;
    sum += product;
  }
  return sum / op.convolution.parts;
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
      // The number of keys is constant or grows linearly with the frame, so the mean of both ends is the
      // average.
      const int64_t ends = attended_keys(graph, op, latent, 0) + most_attended_keys(graph, op, latent);
      return 4 * (double(ends) / 2) * channels;
    }
    case OpKind::norm:
      return 8 * channels;
    case OpKind::add:
      return channels;
    case OpKind::statistics:
      return 3 * input_channels;
    case OpKind::rms_norm:
    case OpKind::gate:
    case OpKind::activate:
      return 5 * channels;
    case OpKind::interpolate:
      return 3 * channels;
    case OpKind::key_value_sums:
    case OpKind::linear_attention: {
      const auto width = double(head_channels(graph, op));
      return 2 * double(op.groups) * width * (width + 1);
    }
    case OpKind::upsample:
    case OpKind::depth_to_space:
    case OpKind::unfold_frames:
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

}  // namespace headroom
