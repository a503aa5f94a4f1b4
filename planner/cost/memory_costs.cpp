#include "planner/cost/memory_costs.h"

#include <sched.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "decoder/gpu/calls/workspace.h"
#include "decoder/lowering/gpu_memory.h"
#include "decoder/lowering/linear_attention.h"

namespace headroom::planner {
namespace {

// Blocks of LibTorch 2.11's attention on the CPU (ATen/native/cpu/FlashAttentionKernel.cpp).
constexpr int64_t kKeysOfBlock = 512;
constexpr int64_t queries_of_block(int64_t queries) {
  return queries >= 768 ? 256 : queries >= 192 ? 64 : 32;
}

// Growth outside the pool (docs/planning.md), measured for SDXL with two threads from 264x200 to 2048x2048:
// pages of the libraries' code; and lists that grow with the picture.
constexpr int64_t kReserveBytes = (int64_t{17} << 20) / 4;
constexpr double kReserveBytesPerPixel = 4.5;

int64_t on_cpu(int64_t bytes) {
  return allocated_bytes(bytes, DeviceKind::cpu);
}

}  // namespace

int64_t attention_scratch_bytes(int64_t queries, int64_t keys, int64_t channels, int64_t threads) {
  const int64_t rows = std::min(queries, queries_of_block(queries));
  // For each row of queries its scores, their largest and their sum, and the result so far.
  const int64_t floats = rows * (std::min(keys, kKeysOfBlock) + 2 + channels);
  return on_cpu(threads * floats * int64_t{sizeof(float)});
}

int64_t planned_threads() {
  cpu_set_t set;
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  return std::max<int64_t>(2, known ? CPU_COUNT(&set) : std::thread::hardware_concurrency());
}

MemoryModel cpu_memory_model(const Graph& graph, int64_t threads) {
  MemoryModel model;
  model.reserve_bytes = kReserveBytes;
  model.reserve_bytes_per_pixel = kReserveBytesPerPixel;
  model.workspace_bytes = [&graph, threads](const Op& op, ConvolutionAlgorithm form, const Extent& tile,
                                            const Sizes& sizes) -> int64_t {
    if (op.kind == OpKind::conv) {
      const KernelShape kernel = kernel_shape(graph, op);
      return on_cpu(
          convolution_workspace_bytes(kernel, algorithm_of(kernel, form), tile, sizes.items, threads));
    }
    if (op.kind == OpKind::linear_attention) {
      const int64_t floats = linear_attention_floats(op.groups, head_channels(graph, op), sizes.items);
      return on_cpu(floats * int64_t{sizeof(float)});
    }
    if (op.kind != OpKind::attention) return 0;
    // A partial result beside the running one, the log-sum-exps of both, and the library's own blocks.
    const int64_t channels = graph.tensor(op.output).channels;
    const int64_t queries = tile.y * tile.x;  // one frame after the other
    const int64_t row_bytes = queries * int64_t{sizeof(float)};
    const Extent materialised = extent_of(graph.tensor(op.inputs[1]), sizes.latent);
    const bool interleaved = op.frames == AttentionFrames::interleaved;
    const int64_t widened = sizes.dtype == Dtype::fp32 && !interleaved
                                ? 0
                                : 2 * on_cpu(std::min(materialised.y * materialised.x, kWidenedPositions) *
                                             channels * int64_t{sizeof(float)});
    // Where frames are interleaved, a frame's queries and its result are put together apart.
    const int64_t copies = interleaved ? 2 * on_cpu(row_bytes * channels) : 0;
    return widened + copies + on_cpu(row_bytes * channels) + 2 * on_cpu(row_bytes) +
           attention_scratch_bytes(queries, std::numeric_limits<int64_t>::max(), channels, threads);
  };
  return model;
}

MemoryModel cuda_memory_model(const Graph& graph) {
  MemoryModel model;
  model.workspace_bytes = [&graph](const Op& op, ConvolutionAlgorithm, const Extent& tile,
                                   const Sizes& sizes) -> int64_t {
    // Items and frames of attention come one after another.
    int64_t bytes = 0;
    if (op.kind == OpKind::conv)
      bytes = gpu::convolution_workspace_bytes(kernel_shape(graph, op), tile, sizes.dtype);
    if (op.kind == OpKind::attention) {
      const Extent keys = extent_of(graph.tensor(op.inputs[1]), sizes.latent);
      bytes = gpu::attention_workspace_bytes(tile.y * tile.x, keys.y * keys.x,
                                             graph.tensor(op.output).channels, sizes.dtype);
    }
    return allocated_bytes(bytes, DeviceKind::cuda);
  };
  return model;
}

MemoryModel memory_model_of(const Graph& graph, DeviceKind device) {
  return device == DeviceKind::cuda ? cuda_memory_model(graph) : cpu_memory_model(graph);
}

}  // namespace headroom::planner
