#pragma once

#include "decoder/base/errors.h"
#include "decoder/gpu/calls/gpu.h"

namespace headroom {

/// The card has too little free memory for a plan, because other processes use it. A smaller plan may still
/// fit.
class OutOfGpuMemory : public DoesNotFit {
 public:
  /// `bytes` is the size that the card refused.
  OutOfGpuMemory(const gpu::Gpu& gpu, int64_t bytes);
};

/// Largest limit for a plan beside the card's current users: the free bytes less 512 MiB, but at least 0.
/// Libraries allocate up to that much when they first run.
int64_t limit_on_card(const gpu::Gpu& gpu);

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
