#pragma once

#include "decoder/gpu/memory/free_on_card.h"

namespace headroom {

/// RAII reservation of GPU memory.
class GpuReservation {
 public:
  /// Throws OutOfGpuMemory if the card has too little memory.
  GpuReservation(gpu::Gpu& gpu, int64_t bytes) : gpu_(gpu) {
    try {
      base_ = gpu.reserve(bytes);
    } catch (const LimitExceeded&) {
      gpu.release();
      throw OutOfGpuMemory(gpu, bytes);
    } catch (...) {
      gpu.release();
      throw;
    }
  }
  ~GpuReservation() { gpu_.release(); }
  GpuReservation(const GpuReservation&) = delete;
  GpuReservation& operator=(const GpuReservation&) = delete;

  std::byte* base() const { return base_; }

 private:
  gpu::Gpu& gpu_;
  std::byte* base_ = nullptr;
};

}  // namespace headroom
