#include "planner/cost/device_costs.h"

#include <algorithm>

#include "decoder/base/os/process.h"
#include "decoder/gpu/calls/workspace.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/storage.h"

namespace headroom::planner {

namespace {

/// Two cores with AVX-512; tiles are fp32 in every dtype. Measured before convolutions were our own, so most
/// plans take less. Decodes correct the predictions (planner/answer/learnt.h).
constexpr DeviceRates kTwoCores{
    .convolution_flops_per_second = 170e9,
    .attention_flops_per_second = 200e9,
    .narrow_flops_per_second = 20e9,
    .bytes_per_second = 3e9,
    .step_seconds = 30e-6,  // waking threads, calling libraries
    .weights_bytes_per_second = 1e9,
    .transform_bytes_per_second = 4e9,
    .host_bytes_per_second = 12e9,      // a link of sixteen lanes, pinned memory
    .scratch_bytes_per_second = 500e6,  // a solid-state disk
};

DeviceRates gpu_rates(const GpuCard& card, Dtype dtype, Tf32 tf32) {
  return {
      .convolution_flops_per_second = card.convolution_rate(dtype, tf32.convolutions),
      .attention_flops_per_second = card.attention_rate(dtype, tf32.products),
      .narrow_flops_per_second = card.narrow_flops_per_second,
      .weights_bytes_per_second = card.weights_bytes_per_second,
      .host_bytes_per_second = card.host_bytes_per_second,
      .both_ways = true,
  };
}

}  // namespace

GpuCard GpuCard::assumed(DeviceKind device) {
  if (device != DeviceKind::torch) return {};
  // A T4, by its data sheet and half of its peaks. Each call is a few operations of PyTorch.
  return {.multiprocessors = 40,
          .dram_bytes_per_second = 2.4e11,
          .l2_bytes_per_second = 5e11,
          .l2_share_bytes = 2e6,
          .convolution_flops_per_second = 25e12,
          .attention_flops_per_second = 10e12,
          .fp32_convolution_flops_per_second = 4e12,
          .fp32_narrow_convolution_flops_per_second = 4e12,
          .fp32_attention_flops_per_second = 3e12,
          .tf32_convolution_flops_per_second = 4e12,
          .tf32_attention_flops_per_second = 3e12,
          .narrow_flops_per_second = 5e11,
          .kernel_seconds = 1e-5,
          .launch_seconds = 6e-5,
          .weights_bytes_per_second = 5e9,
          .host_bytes_per_second = 6e9,
          .emitted_bytes_per_second = 6e9,
          .reservation = {}};
}

DeviceRates assumed_rates(const DeviceRecord& device, Dtype dtype, Tf32 tf32) {
  return device.is_host ? kTwoCores : gpu_rates(GpuCard::assumed(device.kind), dtype, tf32);
}

bool counts_flops(const Op& op) {
  return op.kind == OpKind::conv || op.kind == OpKind::attention || op.kind == OpKind::key_value_sums ||
         op.kind == OpKind::linear_attention;
}

double flops_per_second(const DeviceRates& rates, const Op& op) {
  if (op.kind == OpKind::attention) return rates.attention_flops_per_second;
  if (op.kind == OpKind::conv && op.groups == 1) return rates.convolution_flops_per_second;
  return rates.narrow_flops_per_second;
}

namespace {

// Memory growth outside the pool (docs/planning.md). It has three parts: code pages touched for the first
// time, heap memory for small tensors (grows with the decoder's size), and lists that grow with the picture.
constexpr int64_t kReserveBytes = int64_t{3} << 18;
constexpr int64_t kMostReserveOfWeights = int64_t{5} << 18;
constexpr int64_t kWeightBytesPerReserveByte = 64;
constexpr double kReserveBytesPerPixel = 0.125;

int64_t on_cpu(int64_t bytes) {
  return cpu_storage().allocated_bytes(bytes);
}

}  // namespace

int64_t planned_threads() {
  return std::max(2, allowed_processors());
}

MemoryModel cpu_memory_model(const Graph& graph, int64_t threads) {
  MemoryModel model;
  const int64_t weight_bytes = parameter_elements(graph) * int64_t{sizeof(float)};
  model.reserve_bytes =
      kReserveBytes + std::min(weight_bytes / kWeightBytesPerReserveByte, kMostReserveOfWeights);
  model.reserve_bytes_per_pixel = kReserveBytesPerPixel;
  model.workspace_bytes = [&graph, threads](const Op& op, ConvolutionAlgorithm algorithm, const Extent& tile,
                                            const Sizes& sizes) -> int64_t {
    if (op.kind == OpKind::conv) {
      const KernelShape kernel = kernel_shape(graph, op);
      return on_cpu(
          convolution_workspace_bytes(kernel, algorithm_of(kernel, algorithm), tile, sizes.items, threads));
    }
    if (op.kind == OpKind::linear_attention) {
      const int64_t floats = linear_attention_floats(op.groups, head_channels(graph, op), sizes.items);
      return on_cpu(floats * int64_t{sizeof(float)});
    }
    if (op.kind != OpKind::attention) return 0;
    const int64_t channels = graph.tensor(op.output).channels;
    const int64_t queries = tile.y * tile.x;  // frames run one after another
    // With interleaved frames, the queries and the result of a frame are gathered in separate buffers.
    const int64_t copies = op.frames == AttentionFrames::interleaved
                               ? 2 * on_cpu(queries * channels * int64_t{sizeof(float)})
                               : 0;
    const int64_t floats =
        attention_work(queries, most_attended_keys(graph, op, sizes.latent), channels).floats(threads);
    return copies + on_cpu(floats * int64_t{sizeof(float)});
  };
  return model;
}

MemoryModel cuda_memory_model(const Graph& graph) {
  MemoryModel model;
  model.workspace_bytes = [&graph](const Op& op, ConvolutionAlgorithm, const Extent& tile,
                                   const Sizes& sizes) -> int64_t {
    // Items run one after another, and so do the frames of attention.
    int64_t bytes = 0;
    if (op.kind == OpKind::conv)
      bytes = gpu::convolution_workspace_bytes(kernel_shape(graph, op), tile, sizes.dtype);
    if (op.kind == OpKind::attention) {
      bytes = gpu::attention_workspace_bytes(tile.y * tile.x, most_attended_keys(graph, op, sizes.latent),
                                             graph.tensor(op.output).channels);
    }
    return gpu_storage().allocated_bytes(bytes);
  };
  model.attention_state_bytes = [&graph](const Op& op, const Extent& tile) {
    const int64_t channels = graph.tensor(op.output).channels;
    return gpu_storage().allocated_bytes(gpu::attention_state_layout(tile.y * tile.x, channels).end);
  };
  return model;
}

MemoryModel memory_model_of(const Graph& graph, const DeviceRecord& device) {
  if (device.is_host) return cpu_memory_model(graph);
  MemoryModel model = cuda_memory_model(graph);
  if (device.temporary_bytes == 0) return model;
  model.workspace_bytes = [](const Op&, ConvolutionAlgorithm, const Extent&, const Sizes&) -> int64_t {
    return 0;
  };
  model.reserve_bytes = temporary_bytes(graph, device);
  return model;
}

}  // namespace headroom::planner
