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

/// Runs the threads of a grid on the CPU, one after another until they meet at a barrier. A barrier that some
/// threads do not reach is found; shared memory begins as NaNs; writes past its ends are found.
namespace headroom::emulated {

/// Position of the running thread in its block and grid.
struct Place {
  uint3 thread{}, block{};
  dim3 threads, blocks;
  uint32_t number = 0;  ///< in its block, x first
};
extern thread_local constinit Place place;

/// Resources of the GPU, which tests may change.
struct Device {
  size_t shared_bytes = size_t{227} << 10;  ///< that a block can have: those of capability 9.0
  int multiprocessors = 132;
};
extern Device device;

struct Grid {
  const char* kernel = "";
  dim3 blocks, threads;
  size_t shared_bytes = 0;
};
/// Throws DeviceError where the kernel breaks a rule.
void run(const Grid& grid, const std::function<void()>& thread);

/// Starts a kernel on a stream. By default the kernel runs at once. tests/air_card queues it.
using Launcher = void (*)(const Grid& grid, void* stream, const std::function<void()>& thread);
extern Launcher launcher;

// For the running thread:

std::byte* shared_memory();
void meet_block(const std::source_location& where);
void meet_warp(const std::source_location& where);
constexpr size_t kMostExchanged = 32;  // bytes
/// Gives a value to the warp, and what each lane gave, kMostExchanged bytes apart. Valid until the next
/// exchange but one.
const std::byte* exchange(const void* value, size_t bytes, const std::source_location& where);
/// Ends the launch with a DeviceError.
[[noreturn]] void fail(const char* what, const std::source_location& where);

/// Written when the copy is waited for; until then NaNs stand there.
void copy_later(void* shared, const void* global, bool present);
void close_copies();
void wait_for_copies(size_t open_groups);

}  // namespace headroom::emulated
