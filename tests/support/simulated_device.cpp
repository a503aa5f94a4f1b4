#include "tests/support/simulated_device.h"

#include <algorithm>

#include "decoder/graph/geometry.h"

namespace headroom::test {
namespace {

constexpr int64_t kKibibyte = 1024;

int64_t rounded_up(int64_t bytes, int64_t unit) {
  const int64_t rest = bytes % unit;
  return rest == 0 ? bytes : bytes + unit - rest;
}

bool on_cuda(const Sizes& sizes) {
  return sizes.device == DeviceKind::cuda;
}

int64_t stored_element(const Sizes& sizes) {
  return sizes.dtype == Dtype::fp32 ? 4 : 2;
}

/// Bytes of a kernel: `matrices` matrices of input by output channels, with rows padded to cache lines.
int64_t kernel_bytes(const Graph& graph, const Op& op, int64_t matrices) {
  int64_t row = graph.tensor(op.output).channels * 4;
  while (row % 64 != 0) ++row;
  return matrices * graph.tensor(op.inputs[0]).channels * row;
}

/// Bytes of the fp32 parameters, each aligned to 64 bytes.
int64_t packed_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm) {
  int64_t vector = graph.tensor(op.output).channels * 4;
  while (vector % 64 != 0) ++vector;
  if (op.kind == OpKind::norm) return vector + vector;
  if (op.kind != OpKind::conv) return 0;
  if (algorithm == ConvolutionAlgorithm::winograd && has_two_algorithms(graph, op))
    return winograd_bytes(graph, op) + vector;
  return kernel_bytes(graph, op, op.factor.y == 2 ? 4 * 4 : op.kernel.y * op.kernel.x) + vector;
}

/// Number of kernel taps. Over upsampling, two of three taps along each axis merge.
double taps(const Op& op) {
  return op.factor.y == 2 ? 4 : double(op.kernel.t) * op.kernel.y * op.kernel.x;
}

/// Seconds by FLOP count; 0 for elementwise work.
double counted_seconds(const Graph& graph, const Step& step, const Sizes& sizes,
                       const Assumptions& assumptions) {
  const double channels = double(graph.tensor(swept(step)).channels);
  if (step.kind == OpKind::conv) {
    const Op& op = graph.op(step.op);
    return 2 * taps(op) * double(graph.tensor(op.inputs[0]).channels) * channels /
           assumptions.convolution_flops_per_second;
  }
  if (step.kind != OpKind::attention) return 0;
  const Extent keys = extent_of(graph.tensor(graph.op(step.op).inputs[1]), sizes.latent);
  return 4 * double(keys.t * keys.y * keys.x) * channels / assumptions.attention_flops_per_second;
}

}  // namespace

Assumptions assumptions_for(const Request& request) {
  Assumptions assumptions;
  if (request.device == DeviceKind::cpu) return assumptions;
  assumptions.weights_bytes_per_second = 29e9;
  assumptions.host_bytes_per_second = 44.9e9;
  assumptions.both_ways = true;
  return assumptions;
}

int64_t pool_bytes(int64_t bytes, DeviceKind device) {
  if (device == DeviceKind::cuda) return rounded_up(bytes, 512);
  return rounded_up(bytes, bytes >= 16 * kKibibyte ? 4 * kKibibyte : 64);
}

int64_t tile_pool_bytes(int64_t values_of_item, const Sizes& sizes) {
  if (on_cuda(sizes)) return sizes.items * pool_bytes(values_of_item * stored_element(sizes), sizes.device);
  return pool_bytes(sizes.items * values_of_item * 4, sizes.device);
}

bool has_two_algorithms(const Graph& graph, const Op& op) {
  return op.kind == OpKind::conv && op.kernel.y * op.kernel.x == 9 && op.kernel.y == op.kernel.x &&
         graph.tensor(op.inputs[0]).channels >= 16;
}

int64_t winograd_bytes(const Graph& graph, const Op& op) {
  return kernel_bytes(graph, op, op.factor.y == 2 ? 8 * 8 : 6 * 6);
}

int64_t parameter_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm,
                        const Sizes& sizes) {
  if (!on_cuda(sizes)) return packed_bytes(graph, op, algorithm);
  const int64_t outputs = graph.tensor(op.output).channels;
  if (op.kind == OpKind::norm) return 2 * rounded_up(outputs * 4, 256);
  if (op.kind != OpKind::conv) return 0;
  const int64_t weights = outputs * graph.tensor(op.inputs[0]).channels *
                          (op.factor.y == 2 ? 16 : op.kernel.t * op.kernel.y * op.kernel.x);
  return rounded_up(weights * stored_element(sizes), 256) + rounded_up(outputs * stored_element(sizes), 256);
}

int64_t statistics_bytes(const Graph& graph, const Sizes& sizes) {
  if (!on_cuda(sizes)) return 0;
  int64_t of_item = 0, largest = 0, counters = 0;
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::statistics) {
      of_item += rounded_up(op.groups * 3 * 8, 256);
      const int64_t slices = (graph.tensor(op.inputs[0]).channels + 127) / 128;
      largest = std::max<int64_t>(largest, 1584 / slices * op.groups * 3 * 8);
      counters = std::max<int64_t>(counters, ((1584 / slices + 63) / 64 + 1) * op.groups * 4);
    }
    if (op.kind == OpKind::norm) of_item += rounded_up(graph.tensor(op.output).channels * 2 * 4, 256);
  }
  return pool_bytes(sizes.items * of_item + rounded_up(largest, 256) + rounded_up(counters, 256),
                    sizes.device);
}

double load_seconds(const Graph& graph, const Sizes& sizes, const Assumptions& assumptions) {
  int64_t bytes = 0;
  for (const Op& op : graph.ops()) bytes += parameter_bytes(graph, op, ConvolutionAlgorithm::direct, sizes);
  return double(bytes) / assumptions.weights_bytes_per_second;
}

TensorId swept(const Step& step) {
  return step.kind == OpKind::statistics ? step.inputs[0].tensor : step.tensor;
}

double seconds_per_position(const Graph& graph, const Step& step, ConvolutionAlgorithm algorithm,
                            const Sizes& sizes, const Assumptions& assumptions) {
  const double counted = counted_seconds(graph, step, sizes, assumptions);
  if (counted > 0) {
    double share = 1;
    if (algorithm == ConvolutionAlgorithm::winograd && has_two_algorithms(graph, graph.op(step.op)))
      share =
          graph.op(step.op).factor.y == 2 ? assumptions.upsampled_winograd_share : assumptions.winograd_share;
    return share * counted;
  }
  // Only stored values have the plan's dtype; tiles are in fp32.
  const double element = step.kind == OpKind::store ? double(stored_element(sizes)) : 4;
  return double(graph.tensor(swept(step)).channels) * element / assumptions.bytes_per_second;
}

}  // namespace headroom::test
