#pragma once

#include <catch2/catch.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "tests/support/held_view.h"

namespace headroom::test {

/// This machine's GPU. Returns null if there is none or the build has no CUDA, and sets `why`. CTest counts a
/// test that prints `why` as skipped.
inline std::unique_ptr<gpu::Gpu> gpu_if_any(std::string& why) {
  try {
    return gpu::open_gpu();  // test executables lie beside lib/, like programs
  } catch (const DeviceError& error) {
    why = error.what();
    if (why.find("no GPU: ") == std::string::npos && why.find("built without CUDA") == std::string::npos)
      throw;
    why = "skipped: no GPU: " + why;
    return nullptr;
  }
}
inline std::unique_ptr<gpu::Gpu> gpu_or_skip() {
  std::string why;
  std::unique_ptr<gpu::Gpu> gpu = gpu_if_any(why);
  if (!gpu) WARN(why);
  return gpu;
}

/// Allocations on a GPU, and copies between them and host memory.
class OnGpu {
 public:
  OnGpu(gpu::Gpu& gpu, int64_t bytes) : gpu_(gpu), next_(gpu.reserve(bytes)), end_(next_ + bytes) {}
  ~OnGpu() { gpu_.release(); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

  /// Uninitialized memory, aligned to 256 bytes.
  std::byte* take(int64_t bytes) {
    std::byte* taken = next_;
    next_ += (bytes + 255) / 256 * 256;
    REQUIRE(next_ <= end_);
    return taken;
  }
  std::byte* send(const std::vector<std::byte>& memory) {
    std::byte* to = take(static_cast<int64_t>(memory.size()));
    gpu_.copy(gpu::Stream::compute, to, memory.data(), static_cast<int64_t>(memory.size()));
    return to;
  }
  gpu::View send(const HeldView& held) {
    gpu::View view = held.view;
    view.base = send(held.memory);
    return view;
  }
  /// Waits for the copy before it returns.
  void fetch(const std::byte* from, std::vector<std::byte>& memory) {
    gpu_.copy(gpu::Stream::compute, memory.data(), from, static_cast<int64_t>(memory.size()));
    wait();
  }
  void wait() { gpu_.wait_on_host(gpu_.record(gpu::Stream::compute)); }

 private:
  gpu::Gpu& gpu_;
  std::byte* next_;
  std::byte* end_;
};

}  // namespace headroom::test
