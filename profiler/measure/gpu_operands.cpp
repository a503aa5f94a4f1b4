#include "profiler/measure/gpu_operands.h"

#include <algorithm>
#include <string>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/interpreter/kept_map.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"
#include "profiler/measure/operands.h"

namespace headroom::profiler {
namespace {

constexpr int64_t kDrawn = int64_t{1} << 20;  // values
/// Larger than any card's caches.
constexpr int64_t kBeyondGpuCacheBytes = int64_t{256} << 20;

}  // namespace

GpuOperands::GpuOperands(GpuDevice& device, Dtype dtype, int64_t cold_values, PinnedStaging& staging)
    : device_(device),
      dtype_(dtype),
      staging_(staging),
      drawn_(device.allocate(kDrawn * bytes_per_element(dtype), {})),
      cold_buffer_(dtype, kBeyondGpuCacheBytes, [this](int64_t values) { return take(values); }) {
  std::vector<float> values(kDrawn);
  profiler::fill(values.data(), kDrawn);
  std::byte* through = staging_.next();
  kernels::narrow(dtype_, values.data(), through, kDrawn);
  staging_.gpu().copy(gpu::Stream::compute, drawn_.get(), through, kDrawn * bytes_per_element(dtype_));
  staging_.used();
  cold_buffer_.hold(cold_values);
}

std::shared_ptr<void> GpuOperands::take(int64_t values) {
  const int64_t bytes = values * bytes_per_element(dtype_);
  std::shared_ptr<void> memory = device_.allocate(bytes, {});
  fill(memory.get(), bytes);
  return memory;
}

void GpuOperands::fill(void* memory, int64_t bytes) {
  const int64_t chunk = kDrawn * bytes_per_element(dtype_);
  for (int64_t at = 0; at < bytes; at += chunk) {
    staging_.gpu().copy(gpu::Stream::compute, static_cast<std::byte*>(memory) + at, drawn_.get(),
                        std::min(chunk, bytes - at));
  }
}

DeviceTile GpuOperands::tile(const Region& region, int64_t channels) {
  const int64_t values = positions(extent_of(region)) * channels;
  if (values > gpu::kMostTileValues) {
    throw DoesNotFit("--sizes: latency tables up to these sizes need a tile of " + std::to_string(values) +
                         " values, on cuda at most " + std::to_string(gpu::kMostTileValues) +
                         "; profile smaller sizes",
                     0);
  }
  DeviceTile made = device_.make_tile(region, channels, 1);
  fill(made.view.blocks[0], values * bytes_per_element(dtype_));
  return made;
}

KeptMap GpuOperands::blocks(int64_t positions, int64_t channels) {
  const int64_t row_bytes = channels * bytes_per_element(dtype_);
  const int64_t least_rows = (positions + gpu::kMostBlocks - 1) / gpu::kMostBlocks;
  const int64_t rows =
      std::min(positions, std::max(least_rows, std::max<int64_t>(1, MemoryModel{}.block_bytes / row_bytes)));
  KeptMap map(KeptTensor{.block_rows = rows}, Extent{1, positions, 1}, channels, 1, dtype_,
              [this](int64_t bytes, const InSeries&) { return device_.allocate(bytes, {}); });
  map.acquire({0, map.blocks_per_item()});
  for (void* block : map.view().blocks) fill(block, rows * row_bytes);
  return map;
}

int64_t GpuOperands::tile_bytes(int64_t values) const {
  return gpu_storage().allocated_bytes(values * bytes_per_element(dtype_));
}

}  // namespace headroom::profiler
