#include "decoder/schedule/gpu_layout.h"

#include <catch2/catch.hpp>

#include "decoder/schedule/blocks.h"
#include "decoder/schedule/peak.h"
#include "decoder/schedule/storage.h"
#include "tests/decoder/plan/small_plan.h"

namespace headroom {
namespace {

using testing::small_graph;
using testing::small_plan;

constexpr int64_t kMiB = int64_t{1} << 20;

Sizes on(DeviceKind device, Dtype dtype, int64_t items = 2) {
  return {testing::kSmallLatent, items, dtype, device};
}
const Sizes kCuda = on(DeviceKind::cuda, Dtype::bf16);

int64_t bytes_of(const Graph& graph, const char* op, Dtype dtype) {
  return weights_bytes(graph, graph.op(graph.find_op(op)), ConvolutionAlgorithm::direct,
                       {DeviceKind::cuda, dtype});
}

TEST_CASE("memory: allocations on CUDA are multiples of 512 bytes", "[unit][memory]") {
  CHECK(gpu_storage().allocated_bytes(0) == 0);
  CHECK(gpu_storage().allocated_bytes(1) == 512);
  CHECK(gpu_storage().allocated_bytes(512) == 512);
  CHECK(gpu_storage().allocated_bytes(20'000) == 20'480);
  CHECK(cpu_storage().allocated_bytes(1) == 64);
  CHECK(cpu_storage().allocated_bytes(20'000) == 20'480);
  CHECK(cpu_storage().allocated_bytes(20'481) == 24'576);
}

TEST_CASE("memory: tiles are in the dtype on CUDA, the latent in fp32", "[unit][memory]") {
  const Graph graph = small_graph();
  const TensorId out = graph.find_tensor("conv_out");
  // 3 channels at 15 positions are 90 bytes per item. Each item is aligned.
  CHECK(tile_bytes(graph, out, {1, 3, 5}, kCuda) == 2 * 512);
  CHECK(tile_bytes(graph, out, {1, 3, 5}, on(DeviceKind::cpu, Dtype::bf16)) == 384);
  CHECK(tile_bytes(graph, out, {1, 30, 50}, kCuda) == 2 * 9216);
  CHECK(tile_bytes(graph, out, {1, 30, 50}, on(DeviceKind::cuda, Dtype::fp32)) == 2 * 18'432);
  CHECK(tile_element_bytes(on(DeviceKind::cpu, Dtype::fp16)) == 4);
  CHECK(tile_element_bytes(on(DeviceKind::cuda, Dtype::fp16)) == 2);
  CHECK(latent_bytes(graph, kCuda) == 2 * 8 * 8 * 4 * 4);
  const Plan plan = small_plan(graph);  // blocks of 2 rows, 8 columns, 8 channels
  CHECK(kept_block_bytes(graph, plan.kept[0], kCuda) == 512);
  CHECK(kept_bytes(graph, plan.kept[0], kCuda) == 2 * 4 * 512);
}

TEST_CASE("memory: parameters on CUDA begin on boundaries of 256 bytes", "[unit][memory]") {
  const Graph graph = small_graph();
  CHECK(bytes_of(graph, "conv_in", Dtype::bf16) == 768 + 256);  // 8 * 9 * 4 * 2 = 576, 8 * 2
  CHECK(bytes_of(graph, "norm", Dtype::bf16) == 256 + 256);
  CHECK(bytes_of(graph, "conv", Dtype::bf16) == 1280 + 256);     // 1152
  CHECK(bytes_of(graph, "conv_out", Dtype::bf16) == 512 + 256);  // 432
  CHECK(bytes_of(graph, "upsample", Dtype::bf16) == 0);
  CHECK(resident_weights_bytes(graph, kCuda.storage()) == 3840);
  CHECK(bytes_of(graph, "conv", Dtype::fp32) == 2304 + 256);
  CHECK(bytes_of(graph, "norm", Dtype::fp32) == 256 + 256);
  CHECK(resident_weights_bytes(graph, {}) == testing::kSmallWeightBytes);

  Graph others;
  const TensorId latent = others.add_latent(16);
  const TensorId up = others.upsampled_conv("up", latent, 24);
  const TensorId clip = others.conv("clip", up, 24, {3, 3, 3});
  others.set_output(others.conv("each", clip, 24, {1, 3, 3}, {.groups = 24}));
  CHECK(bytes_of(others, "up", Dtype::fp16) == 24 * 4 * 4 * 16 * 2 + 256);
  CHECK(bytes_of(others, "clip", Dtype::fp16) == 31'232 + 256);  // 24 * 27 * 24 * 2 = 31104
  CHECK(bytes_of(others, "each", Dtype::fp16) == 512 + 256);     // 24 * 9 * 2 = 432
}

TEST_CASE("memory: statistics on CUDA and what follows from them are there throughout", "[unit][memory]") {
  const Graph graph = small_graph();
  // Per item: moments of two groups, 48 bytes, and scale and shift of eight channels, 64 bytes. Partial
  // moments: 1584 * 48. Counters: (25 + 1) * 2 * 4 = 208, since 64 segments are merged at a time.
  CHECK(device_state_bytes(graph, kCuda) == gpu_storage().allocated_bytes(2 * (256 + 256) + 76'032 + 256));
  CHECK(device_state_bytes(graph, on(DeviceKind::cuda, Dtype::bf16, 1)) ==
        gpu_storage().allocated_bytes(512 + 76'032 + 256));
  CHECK(device_state_bytes(graph, on(DeviceKind::cpu, Dtype::bf16)) == 0);

  Graph clip;
  const TensorId latent = clip.add_latent(8);
  const TensorId by_frame = clip.statistics("s", latent, 4, 1e-6, true);
  clip.set_output(clip.norm("n", latent, by_frame, Activation::none));
  // Five frames: 5 * 4 * 24 = 480 and 5 * 8 * 8 = 320. Partial moments and counters cover one frame.
  CHECK(device_state_bytes(clip, {{5, 4, 4}, 1, Dtype::bf16, DeviceKind::cuda}) ==
        gpu_storage().allocated_bytes(512 + 512 + 1584 * 4 * 24 + 512));

  Graph wide;
  const TensorId many = wide.add_latent(640);
  wide.set_output(wide.norm("n", many, wide.statistics("s", many, 2, 1e-6), Activation::none));
  // Groups of 320 channels: each segment has three moments per group, for a fifth of the segments.
  CHECK(device_state_bytes(wide, {{1, 4, 4}, 1, Dtype::bf16, DeviceKind::cuda}) ==
        gpu_storage().allocated_bytes(256 + 5120 + (316 * 2 * 3 * 24 + 255) / 256 * 256 + 256));

  Graph heads;
  const TensorId first = heads.add_latent(48);
  const TensorId more = heads.conv("more", first, 24, {1, 1, 1});
  const TensorId sums = heads.key_value_sums("sums", {first, more}, 8);
  heads.set_output(heads.linear_attention("mix", {first, more}, sums, 1e-15));
  // Three heads of 8 * 9 sums each. Partial sums are for the larger input, which has two heads.
  const int64_t partial = 32 * 2 * 72 * 4;
  CHECK(device_state_bytes(heads, {{1, 4, 4}, 3, Dtype::bf16, DeviceKind::cuda}) ==
        gpu_storage().allocated_bytes(3 * 1792 + partial));
}

TEST_CASE("memory: convolutions on CUDA are granted what their tiles take, within bounds", "[unit][memory]") {
  const KernelShape kernel{.inputs = 128, .outputs = 256, .rows = 3, .columns = 3};
  CHECK(gpu::convolution_workspace_bytes(kernel, {1, 2, 2}, Dtype::bf16) == kMiB);
  CHECK(gpu::convolution_workspace_bytes(kernel, {1, 1000, 1000}, Dtype::bf16) == 32 * kMiB);
  // 66 * 66 * 128 and 64 * 64 * 256 values.
  CHECK(gpu::convolution_workspace_bytes(kernel, {1, 64, 64}, Dtype::bf16) == 1'115'136 + 2'097'152);
  // In fp32 cuDNN changes the layout of the kernel too.
  const int64_t kernel_bytes = 256 * 128 * 9 * 4;
  CHECK(gpu::convolution_workspace_bytes(kernel, {1, 64, 64}, Dtype::fp32) ==
        2 * (1'115'136 + 2'097'152) + kernel_bytes);
  CHECK(gpu::convolution_workspace_bytes(kernel, {1, 1000, 1000}, Dtype::fp32) == 32 * kMiB + kernel_bytes);
  // Our own kernels run strided convolutions.
  KernelShape strided = kernel;
  strided.stride = {1, 2, 2};
  CHECK(gpu::convolution_workspace_bytes(strided, {1, 64, 64}, Dtype::bf16) == 0);
  // Upsampling adds four phases. Each has at most 33 by 32 coarse positions: 64 rows that start at an odd
  // row, and 63 columns.
  KernelShape upsamples = kernel;
  upsamples.upsamples = true;
  const int64_t tiles = (35 * 34 * 128 + 64 * 63 * 256) * 2;
  CHECK(gpu::convolution_workspace_bytes(upsamples, {1, 64, 63}, Dtype::bf16) ==
        (tiles + 255) / 256 * 256 + 4 * 33 * 32 * 256 * 2);
  // Frames run together while they fit 32 MiB. One frame is limited to 256 MiB or eight rows.
  CHECK(gpu::convolution_workspace_bytes(upsamples, {9, 64, 63}, Dtype::bf16) ==
        (9 * tiles + 255) / 256 * 256 + 9 * 4 * 33 * 32 * 256 * 2);
  CHECK(gpu::convolution_workspace_bytes(upsamples, {20, 64, 63}, Dtype::bf16) == (32 + 32) * kMiB);
  CHECK(gpu::convolution_workspace_bytes(upsamples, {9, 256, 256}, Dtype::bf16) ==
        32 * kMiB + 4 * 129 * 129 * 256 * 2);
  CHECK(gpu::convolution_workspace_bytes(upsamples, {1, 2048, 2048}, Dtype::bf16) == (32 + 256) * kMiB);
  CHECK(gpu::convolution_workspace_bytes(upsamples, {1, 2048, 40'000}, Dtype::bf16) ==
        32 * kMiB + 8 * int64_t{4} * 20'001 * 256 * 2);
  // Kernels of the phases have 2 × 2 taps.
  CHECK(gpu::convolution_workspace_bytes(upsamples, {1, 2048, 2048}, Dtype::fp32) ==
        (32 + 256) * kMiB + 256 * 128 * 4 * 4);
}

/// Bytes that are live throughout a pass for any tile size.
int64_t throughout(const Graph& graph, const Plan& plan, size_t pass) {
  LiveBytes live = live_throughout(graph, plan);
  live.pass_weights =
      allocated_bytes(pass_weights_bytes(graph, plan.passes[pass], plan.passes[pass].convolutions,
                                         plan.weights, storage_of(plan.request)),
                      sizes_of(graph, plan));
  return live.total();
}

TEST_CASE("memory: a pass on CUDA holds tiles of its dtype", "[unit][memory]") {
  const Graph graph = small_graph();
  Plan plan = small_plan(graph);
  MemoryModel memory;
  memory.workspace_bytes = [](const Op& op, ConvolutionAlgorithm, const Extent&, const Sizes&) {
    return int64_t{op.kind == OpKind::conv ? 1 << 20 : 0};
  };
  // Per item: upsampled input of 8 by 10 positions with 8 channels, 1280 bytes, and output of 6 by 8 with 3,
  // 288 bytes. Plus the workspace and the whole residual.
  const auto peak_bytes = [&](Dtype dtype) {
    plan.request.device = DeviceKind::cuda;
    plan.request.dtype = dtype;
    plan.micro_batch = 2;
    return PassSweep(graph, plan, 2, memory).peak().bytes - throughout(graph, plan, 2);
  };
  CHECK(peak_bytes(Dtype::bf16) == 2 * 1536 + 2 * 512 + kMiB + 2 * 4 * 512);
  CHECK(peak_bytes(Dtype::fp32) == 2 * 2560 + 2 * 1024 + kMiB + 2 * 4 * 512);
}

}  // namespace
}  // namespace headroom
