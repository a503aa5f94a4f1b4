#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>

// CUDA's own types and names are global.
struct alignas(8) uint2 {
  uint32_t x, y;
};
struct uint3 {
  uint32_t x, y, z;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct dim3 {
  uint32_t x = 1, y = 1, z = 1;
  constexpr dim3(uint32_t x_ = 1, uint32_t y_ = 1, uint32_t z_ = 1) : x(x_), y(y_), z(z_) {}
};

/// Runs the threads of a grid on the CPU. Each thread runs until it reaches a barrier. Detects barriers that
/// some threads do not reach, and writes past the ends of shared memory. Shared memory starts as NaNs.
namespace headroom::emulated {

/// Position of the running thread in its block and grid.
struct Place {
  uint3 thread{}, block{};
  dim3 threads, blocks;
  uint32_t number = 0;  ///< index in the block, x first
};
extern thread_local constinit Place place;

/// GPU resources. Tests may change them.
struct Device {
  size_t shared_bytes = size_t{227} << 10;  ///< maximum per block, as in compute capability 9.0
  int multiprocessors = 132;
  uint64_t block_order = 0;  ///< seed of the order in which blocks start; 0: by number
};
extern Device device;

struct Grid {
  const char* kernel = "";
  dim3 blocks, threads;
  size_t shared_bytes = 0;
};
/// Throws DeviceError if the kernel breaks a rule.
void run(const Grid& grid, const std::function<void()>& thread);

/// Launches a kernel on a stream. The default launcher runs it at once. The one in tests/air_card queues it.
using Launcher = void (*)(const Grid& grid, void* stream, const std::function<void()>& thread);
extern Launcher launcher;

// Functions for the running thread.

std::byte* shared_memory();
void meet_block(const std::source_location& where);
void meet_warp(const std::source_location& where);
constexpr size_t kMostExchanged = 32;  // bytes
/// Exchanges a value with all lanes of the warp. Returns the lanes' values, kMostExchanged bytes apart. They
/// stay valid until the second exchange after this one.
const std::byte* exchange(const void* value, size_t bytes, const std::source_location& where);
/// Aborts the launch with a DeviceError.
[[noreturn]] void fail(const char* what, const std::source_location& where);

/// Asynchronous copy. The target holds NaNs until the copy is waited for.
void copy_later(void* shared, const void* global, bool present);
void close_copies();
void wait_for_copies(size_t open_groups);

}  // namespace headroom::emulated
