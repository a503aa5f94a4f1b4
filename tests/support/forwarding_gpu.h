#pragma once

#include "decoder/gpu/calls/gpu.h"

namespace headroom::test {

/// Base class that forwards every call to another GPU.
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
  void run(const gpu::Call& call) override { gpu_.run(call); }
  void copy(gpu::Stream stream, void* to, const void* from, int64_t bytes) override {
    gpu_.copy(stream, to, from, bytes);
  }
  void clear(void* memory, int64_t bytes) override { gpu_.clear(memory, bytes); }
  gpu::Event record(gpu::Stream stream) override { return gpu_.record(stream); }
  void wait(gpu::Stream stream, gpu::Event event) override { gpu_.wait(stream, event); }
  void wait_on_host(gpu::Event event) override { gpu_.wait_on_host(event); }
  bool happened(gpu::Event event) override { return gpu_.happened(event); }

 protected:
  gpu::Gpu& gpu_;
};

}  // namespace headroom::test
