#include "decoder/schedule/gpu_layout.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/operations/operation.h"

namespace headroom::gpu {
namespace {

/// Largest number of heads in any input. Inputs are summed one after another and share one buffer.
int64_t most_heads(const Graph& graph, const Op& sums) {
  int64_t most = 0;
  for (TensorId input : sums.inputs) most = std::max(most, graph.tensor(input).channels);
  return most / (3 * head_channels(graph, sums));
}

/// Number of partial moments of each group, for all segments of a frame.
int64_t partial_moments_of_group(const Graph& graph, const Op& statistics) {
  const int64_t channels = graph.tensor(statistics.inputs[0]).channels,
                of_group = channels / statistics.groups;
  return most_moment_segments(channels) * ((of_group + kMomentChannels - 1) / kMomentChannels);
}

/// Bytes of the kernel that one call of cuDNN reads.
int64_t kernel_bytes(const KernelShape& kernel, int64_t element) {
  const int64_t taps = kernel.frames * (kernel.upsamples ? 4 : kernel.rows * kernel.columns);
  return kernel.outputs * taps * (kernel.inputs / kernel.groups) * element;
}

/// Upper bound on the coarse positions that an interval of this length touches.
int64_t coarse(int64_t length) {
  return length / 2 + 1;
}

}  // namespace

int64_t statistics_sets(const Graph& graph, const Op& statistics, const Sizes& sizes) {
  return statistics.by_frame ? extent_of(graph.tensor(statistics.inputs[0]), sizes.latent).t : 1;
}

int64_t partial_bytes(const Graph& graph) {
  int64_t most = 0;
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::statistics)
      most = std::max(most, partial_moments_of_group(graph, op) * op.groups * kMomentsBytes);
    if (op.kind != OpKind::key_value_sums) continue;
    const int64_t channels = head_channels(graph, op);
    most = std::max(
        most, kMostKeyValuePartials * most_heads(graph, op) * channels * (channels + 1) * kPartialSumBytes);
  }
  return on_boundary(most);
}

int64_t counter_bytes(const Graph& graph) {
  int64_t most = 0;
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::statistics) continue;
    const int64_t stretches = (partial_moments_of_group(graph, op) + kMergedMoments - 1) / kMergedMoments;
    most = std::max(most, (stretches + 1) * op.groups * kCounterBytes);
  }
  return on_boundary(most);
}

StateLayout state_layout(const Graph& graph, const Sizes& sizes) {
  StateLayout layout;
  const auto place = [&](int64_t bytes_of_item) {
    const StateLayout::Buffer buffer{layout.bytes, on_boundary(bytes_of_item), bytes_of_item};
    layout.bytes += sizes.items * buffer.item_bytes;
    return buffer;
  };
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::statistics)
      layout.statistics[op.output] = place(statistics_sets(graph, op, sizes) * op.groups * kMomentsBytes);
    if (op.kind == OpKind::norm) {
      const int64_t sets = statistics_sets(graph, *graph.producer(op.inputs[1]), sizes);
      layout.affines[op.output] = place(sets * graph.tensor(op.output).channels * kAffineBytes);
    }
    if (op.kind == OpKind::key_value_sums)
      layout.statistics[op.output] = place(graph.tensor(op.output).channels * kSumBytes);
  }
  layout.partial_offset = layout.bytes;
  layout.bytes += partial_bytes(graph);
  layout.counters_offset = layout.bytes;
  layout.bytes += counter_bytes(graph);
  return layout;
}

int64_t parameter_bytes(const Graph& graph, const Op& op, Dtype dtype) {
  const int64_t channels = graph.tensor(op.output).channels;
  if (operation(op.kind).has_scale_and_bias) return 2 * on_boundary(channels * int64_t{sizeof(float)});
  if (op.kind != OpKind::conv) return 0;
  const KernelShape kernel = kernel_shape(graph, op);
  const int64_t taps = kernel.frames * kernel.direct_rows() * kernel.direct_columns();
  const int64_t element = bytes_per_element(dtype);
  return on_boundary(channels * taps * (kernel.inputs / kernel.groups) * element) +
         on_boundary(channels * element);
}

int64_t convolution_workspace_bytes(const KernelShape& kernel, const Extent& output, Dtype dtype) {
  if (kernel.stride != Axes<int32_t>{1, 1, 1}) return 0;
  const int64_t element = bytes_per_element(dtype);
  const Extent own{output.t, kernel.upsamples ? coarse(output.y) : output.y,
                   kernel.upsamples ? coarse(output.x) : output.x};
  const Extent input{own.t + kernel.frames - 1, own.y + kernel.rows - 1, own.x + kernel.columns - 1};
  const int64_t tiles = (positions(input) * kernel.inputs + positions(output) * kernel.outputs) * element;
  const int64_t granted = std::clamp(on_boundary(tiles), kLeastWorkspace, kConvolutionWorkspace) +
                          (dtype == Dtype::fp32 ? on_boundary(kernel_bytes(kernel, element)) : 0);
  if (!kernel.upsamples) return granted;
  const int64_t row = 4 * own.x * kernel.outputs * element;
  const int64_t frame = std::min(own.y * row, std::max(kMostPhases, kLeastPhaseRows * row));
  return granted + on_boundary(std::max(frame, std::min(own.t * own.y * row, kPhasesTogether)));
}

}  // namespace headroom::gpu
