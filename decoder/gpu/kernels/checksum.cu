#include "decoder/base/checksum.h"
#include "decoder/base/errors.h"
#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/language.h"

namespace headroom::gpu {
namespace {

constexpr uint32_t kThreads = 256;
/// A thread processes four words of the first half of a group and their partners in the second half.
constexpr int64_t kQuarters = kChecksumWords / 8;
constexpr int64_t kQuarterBytes = 16;
constexpr int64_t kGroupsOfBlock = Checksum::kBlockBytes / kChecksumGroupBytes;

struct Words {
  uint32_t values[4];
};

/// Loads words; bytes beyond the end are zero.
__device__ __forceinline__ Words load_words(const std::byte* at, int64_t offset, int64_t bytes) {
  if (offset + kQuarterBytes <= bytes && reinterpret_cast<uintptr_t>(at) % kQuarterBytes == 0) {
    const uint4 loaded = *reinterpret_cast<const uint4*>(at + offset);
    return {{loaded.x, loaded.y, loaded.z, loaded.w}};
  }
  Words words{};
  for (int i = 0; i < kQuarterBytes; ++i) {
    if (offset + i < bytes) words.values[i / 4] |= static_cast<uint32_t>(at[offset + i]) << i % 4 * 8;
  }
  return words;
}

__device__ __forceinline__ int32_t stretch_of(const Checksum& call, int32_t block) {
  int32_t begin = 0, end = call.stretches;
  while (end - begin > 1) {
    const int32_t middle = (begin + end) / 2;
    if (call.first_block[middle] <= block) {
      begin = middle;
    } else {
      end = middle;
    }
  }
  return begin;
}

__global__ void __launch_bounds__(kThreads) add_up(const __grid_constant__ Checksum call) {
  const auto block = static_cast<int32_t>(blockIdx.x);
  const int32_t stretch = stretch_of(call, block);
  const std::byte* at = in_global(call.at[stretch]);
  const int64_t bytes = call.bytes[stretch], first = (block - call.first_block[stretch]) * kGroupsOfBlock;
  const int64_t all = (bytes + kChecksumGroupBytes - 1) / kChecksumGroupBytes;
  const auto quarters =
      static_cast<int32_t>((all - first < kGroupsOfBlock ? all - first : kGroupsOfBlock) * kQuarters);
  uint64_t sum = 0;
#pragma unroll 4
  for (auto i = static_cast<int32_t>(threadIdx.x); i < quarters; i += static_cast<int32_t>(kThreads)) {
    const int64_t group = first + i / static_cast<int32_t>(kQuarters),
                  quarter = i % static_cast<int32_t>(kQuarters);
    const int64_t offset = group * kChecksumGroupBytes + quarter * kQuarterBytes;
    const Words a = load_words(at, offset, bytes),
                b = load_words(at, offset + kChecksumGroupBytes / 2, bytes);
    const auto number = static_cast<uint32_t>(group * kChecksumWords + quarter * 4);
    for (uint32_t k = 0; k < 4; ++k) sum += checksum_of_pair(a.values[k], b.values[k], number + k);
  }
  auto* sums = shared_memory<uint64_t>();
  sums[threadIdx.x] = sum;
  for (uint32_t half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) call.sums[block] = sums[0];
}

}  // namespace

void start(const Checksum& call, StreamHandle stream) {
  launch({.kernel = "checksum",
          .grid = dim3(static_cast<uint32_t>(call.first_block[call.stretches])),
          .block = dim3(kThreads),
          .shared_bytes = kThreads * sizeof(uint64_t),
          .stream = stream},
         add_up, call);
}

}  // namespace headroom::gpu
