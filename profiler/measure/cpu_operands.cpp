#include "profiler/measure/cpu_operands.h"

#include <algorithm>
#include <cstring>

#include "decoder/cpu/tile.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"
#include "profiler/measure/operands.h"

namespace headroom::profiler {
namespace {

constexpr int64_t kBeyondCpuCacheBytes = int64_t{96} << 20;

}  // namespace

CpuOperands::CpuOperands(LimitedPool& pool, Dtype dtype)
    : pool_(pool), dtype_(dtype), cold_buffer_(dtype, kBeyondCpuCacheBytes, [&pool, dtype](int64_t values) {
        return filled_buffer(pool, values, dtype);
      }) {}

DeviceTile CpuOperands::tile(const Region& region, int64_t channels) {
  const Tile tile = filled_tile(pool_, region, channels);
  return {tile.view(), tile.values};
}

KeptMap CpuOperands::blocks(int64_t positions, int64_t channels) {
  const int64_t row_bytes = channels * bytes_per_element(dtype_);
  const int64_t rows = std::clamp<int64_t>(MemoryModel{}.block_bytes / row_bytes, 1, positions);
  KeptMap map(KeptTensor{.block_rows = rows}, Extent{1, positions, 1}, channels, 1, dtype_,
              [&pool = pool_](int64_t bytes, const InSeries&) { return pool.take(bytes); });
  map.acquire({0, map.blocks_per_item()});
  const std::shared_ptr<void> values = filled_buffer(pool_, rows * channels, dtype_);
  for (void* block : map.view().blocks)
    std::memcpy(block, values.get(), static_cast<size_t>(rows * row_bytes));
  return map;
}

int64_t CpuOperands::tile_bytes(int64_t values) const {
  return cpu_storage().allocated_bytes(values * int64_t{sizeof(float)});
}

}  // namespace headroom::profiler
