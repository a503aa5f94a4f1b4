#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <tuple>
#include <type_traits>

#include "decoder/gpu/kernels/language_types.h"
#include "tests/emulated_gpu/emulator.h"

// Kernel language for the emulator. Only decoder/gpu/kernels/language.h includes this file.

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
// One CPU thread runs all threads of a block.
#define __shared__ static thread_local

#define threadIdx (::headroom::emulated::place.thread)
#define blockIdx (::headroom::emulated::place.block)
#define blockDim (::headroom::emulated::place.threads)
#define gridDim (::headroom::emulated::place.blocks)

namespace headroom::gpu {

using Where = std::source_location;

struct Launch {
  const char* kernel;  ///< for messages
  dim3 grid;
  dim3 block;
  size_t shared_bytes = 0;  ///< dynamic shared memory
  StreamHandle stream = nullptr;
};

/// Does nothing for an empty grid.
template <typename... Parameters, typename... Arguments>
void launch(const Launch& launch, void (*kernel)(Parameters...), const Arguments&... arguments) {
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0) return;
  const std::tuple<std::remove_cv_t<Parameters>...> values{arguments...};
  emulated::launcher({launch.kernel, launch.grid, launch.block, launch.shared_bytes}, launch.stream,
                     [kernel, values] { std::apply(kernel, values); });
}

inline size_t most_shared_bytes() {
  return emulated::device.shared_bytes;
}
inline int multiprocessors() {
  return emulated::device.multiprocessors;
}

template <typename T>
T* shared_memory() {
  return reinterpret_cast<T*>(emulated::shared_memory());
}

inline void __syncthreads(const Where& where = Where::current()) {
  emulated::meet_block(where);
}
inline void __syncwarp(uint32_t lanes = kAllLanes, const Where& where = Where::current()) {
  if (lanes != kAllLanes) emulated::fail("does not name its whole warp", where);
  emulated::meet_warp(where);
}

template <typename T>
T value_of_lane(uint32_t lanes, T value, uint32_t lane, const Where& where) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  if (lanes != kAllLanes) emulated::fail("does not name its whole warp", where);
  const std::byte* values = emulated::exchange(&value, sizeof value, where);
  std::memcpy(&value, values + lane * emulated::kMostExchanged, sizeof value);
  return value;
}
inline uint32_t own_lane() {
  return emulated::place.number % kWarp;
}
template <typename T>
T __shfl_sync(uint32_t lanes, T value, int lane, const Where& where = Where::current()) {
  return value_of_lane(lanes, value, static_cast<uint32_t>(lane) % kWarp, where);
}
template <typename T>
T __shfl_xor_sync(uint32_t lanes, T value, int mask, const Where& where = Where::current()) {
  return value_of_lane(lanes, value, (own_lane() ^ static_cast<uint32_t>(mask)) % kWarp, where);
}
/// Lanes near the end keep their own value.
template <typename T>
T __shfl_down_sync(uint32_t lanes, T value, uint32_t distance, const Where& where = Where::current()) {
  const uint32_t lane = own_lane() + distance;
  return value_of_lane(lanes, value, lane < kWarp ? lane : own_lane(), where);
}

inline int32_t min(int32_t a, int32_t b) {
  return a < b ? a : b;
}
inline int32_t max(int32_t a, int32_t b) {
  return a > b ? a : b;
}
inline float reciprocal(float value) {
  return std::abs(value) > 0x1p126f ? 0.0f : 1.0f / value;
}

template <typename T>
T* in_global(T* pointer) {
  return pointer;
}

inline void raise_flag(uint32_t* flag) {
  std::atomic_ref<uint32_t>(*flag).store(1, std::memory_order_relaxed);  // two CPU threads run blocks
}

inline uint32_t arrive(uint32_t* counter) {
  return std::atomic_ref<uint32_t>(*counter).fetch_add(1, std::memory_order_acq_rel);
}

inline float float_of(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline uint32_t bits_of(float value) {
  return std::bit_cast<uint32_t>(value);
}

inline float to_float(float value) {
  return value;
}
inline float to_float(Half value) {
  return static_cast<float>(std::bit_cast<_Float16>(value));
}
inline float to_float(Bfloat16 value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
}

/// Rounds to nearest, ties to even.
template <typename T>
T rounded(float value) {
  if constexpr (std::is_same_v<T, Half>) {
    return std::bit_cast<Half>(static_cast<_Float16>(value));
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (value != value) return {0x7fff};  // the GPU's NaN
    return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
  } else {
    return value;
  }
}

/// Packs two neighbours; the first is in the lower half.
template <typename T>
uint32_t packed(float first, float second) {
  return rounded<T>(first).bits | static_cast<uint32_t>(rounded<T>(second).bits) << 16;
}
template <typename T>
void unpacked(uint32_t pair, float& first, float& second) {
  first = to_float(T{static_cast<uint16_t>(pair & 0xffff)});
  second = to_float(T{static_cast<uint16_t>(pair >> 16)});
}

inline float power_of_2(float exponent) {
  return exponent < -126 ? 0 : exp2f(exponent);
}

/// d += a b for a of 16 × 16 and b of 16 × 8. Words hold two neighbouring values. Lane l has, with g = l / 4
/// and t = l % 4: of a, rows g and g + 8 at columns 2t and 2t + 8; of b, column g at rows 2t and 2t + 8; of
/// d, rows g and g + 8 at columns 2t and 2t + 1. See the PTX ISA, "Matrix Fragments for mma.m16n8k16". GPUs
/// accumulate less precisely than the sum in double here.
template <typename T>
void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2],
                  const Where& where = Where::current()) {
  struct Given {
    uint32_t a[4], b[2];
  } own;
  std::memcpy(own.a, a, sizeof own.a);
  std::memcpy(own.b, b, sizeof own.b);
  const std::byte* given = emulated::exchange(&own, sizeof own, where);
  const auto of_lane = [&](uint32_t lane) {
    Given words;
    std::memcpy(&words, given + lane * emulated::kMostExchanged, sizeof words);
    return words;
  };
  const auto value = [](uint32_t word, uint32_t second) {
    return to_float(T{static_cast<uint16_t>(word >> 16 * second)});
  };
  const uint32_t group = own_lane() / 4, pair = own_lane() % 4;
  // The values of two rows of a and of two columns of b. Each lane is read once: sanitizers check every read.
  float rows[2][16], columns[2][16];
  for (uint32_t holder = 0; holder < 4; ++holder) {
    const Given row = of_lane(group * 4 + holder);
    const Given of_column[2] = {of_lane(2 * pair * 4 + holder), of_lane((2 * pair + 1) * 4 + holder)};
    for (uint32_t i = 0; i < 2; ++i) {
      for (uint32_t at = 0; at < 4; ++at) {
        const uint32_t right = at / 2, k = 8 * right + 2 * holder + at % 2;
        rows[i][k] = value(row.a[2 * right + i], k % 2);
        columns[i][k] = value(of_column[i].b[right], k % 2);
      }
    }
  }
  for (uint32_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (uint32_t k = 0; k < 16; ++k) sum += double(rows[i / 2][k]) * double(columns[i % 2][k]);
    d[i] = static_cast<float>(double(d[i]) + sum);
  }
}

/// Lane l gets row l / 4 and columns 2 (l % 4) and 2 (l % 4) + 1 of each matrix, or of its transpose.
template <size_t matrices>
void load_matrices(uint32_t (&values)[matrices], const void* row, bool transposed, const Where& where) {
  if (reinterpret_cast<uintptr_t>(row) % 16 != 0)
    emulated::fail("gives ldmatrix a row not aligned to 16 bytes", where);
  const std::byte* given = emulated::exchange(&row, sizeof row, where);
  const auto element = [&](size_t matrix, size_t y, size_t x) {
    const uint16_t* from = nullptr;
    std::memcpy(&from, given + (matrix * 8 + y) * emulated::kMostExchanged, sizeof from);
    return uint32_t{from[x]};
  };
  const size_t y = own_lane() / 4, x = own_lane() % 4 * 2;
  for (size_t i = 0; i < matrices; ++i) {
    values[i] = transposed ? element(i, x, y) | element(i, x + 1, y) << 16
                           : element(i, y, x) | element(i, y, x + 1) << 16;
  }
  emulated::meet_warp(where);  // no lane may overwrite the memory before all have read it
}
inline void ldmatrix_x4(uint32_t (&values)[4], const void* row, const Where& where = Where::current()) {
  load_matrices(values, row, false, where);
}
inline void ldmatrix_x4_transposed(uint32_t (&values)[4], const void* row,
                                   const Where& where = Where::current()) {
  load_matrices(values, row, true, where);
}
inline void ldmatrix_x2(uint32_t (&values)[2], const void* row, const Where& where = Where::current()) {
  load_matrices(values, row, false, where);
}
inline void ldmatrix_x2_transposed(uint32_t (&values)[2], const void* row,
                                   const Where& where = Where::current()) {
  load_matrices(values, row, true, where);
}

/// Copies 16 bytes to shared memory. Both addresses must be aligned to 16. If `present` is false, it writes
/// zeros and reads nothing.
inline void cp_async_16(void* shared, const void* global, bool present = true,
                        const Where& where = Where::current()) {
  if (reinterpret_cast<uintptr_t>(shared) % 16 != 0 || reinterpret_cast<uintptr_t>(global) % 16 != 0)
    emulated::fail("gives cp.async something not aligned to 16 bytes", where);
  emulated::copy_later(shared, global, present);
}
inline void cp_async_commit() {
  emulated::close_copies();
}
/// Waits until at most N groups of this thread's copies are pending.
template <int N>
void cp_async_wait() {
  emulated::wait_for_copies(N);
}

}  // namespace headroom::gpu
