#pragma once

#include "decoder/gpu/calls/gpu.h"

namespace headroom::test {

/// Another GPU's memory and what it says of itself; what is done on it, and when, is for those that derive.
class ForwardingGpu : public gpu::Gpu {
 public:
  explicit ForwardingGpu(gpu::Gpu& gpu) : gpu_(gpu) {}

  std::string device() const override { return gpu_.device(); }
  std::string libraries() const override { return gpu_.libraries(); }
  int64_t free_bytes() const override { return gpu_.free_bytes(); }
  int64_t total_bytes() const override { return gpu_.total_bytes(); }
  int64_t own_bytes() const override { return gpu_.own_bytes(); }
  ReservationSizes reservation_sizes() const override { return gpu_.reservation_sizes(); }
  std::byte* reserve(int64_t bytes) override { return gpu_.reserve(bytes); }
  std::byte* reserve_host(int64_t bytes) override { return gpu_.reserve_host(bytes); }
  std::shared_ptr<std::byte> pin(int64_t bytes) override { return gpu_.pin(bytes); }
  void release() noexcept override { gpu_.release(); }

 protected:
  gpu::Gpu& gpu_;
};

}  // namespace headroom::test
