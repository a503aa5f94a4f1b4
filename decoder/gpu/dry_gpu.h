#pragma once

#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "decoder/gpu/calls/gpu.h"

namespace headroom {

/// A GPU that ignores all calls. With it a dry run executes the decode's own code without a GPU. Its host
/// memory is real and zero-initialised.
class DryGpu : public gpu::Gpu {
 public:
  std::string device() const override { return "none"; }
  std::string libraries() const override { return "none"; }
  int64_t free_bytes() const override { return std::numeric_limits<int64_t>::max(); }
  int64_t total_bytes() const override { return std::numeric_limits<int64_t>::max(); }
  int64_t own_bytes() const override { return 0; }

  std::byte* reserve(int64_t) override { return nullptr; }
  std::byte* reserve_host(int64_t bytes) override {
    auto* memory = static_cast<std::byte*>(std::calloc(static_cast<size_t>(bytes), 1));
    if (memory == nullptr) throw std::bad_alloc();
    host_memory_.emplace_back(memory, std::free);
    return memory;
  }
  std::shared_ptr<std::byte> pin(int64_t bytes) override {
    return {static_cast<std::byte*>(std::calloc(static_cast<size_t>(bytes), 1)), std::free};
  }
  void release() noexcept override { host_memory_.clear(); }

  void run(const gpu::Call&) override {}
  void copy(gpu::Stream, void*, const void*, int64_t) override {}
  void clear(void*, int64_t) override {}

  gpu::Event record(gpu::Stream) override { return {}; }
  void wait(gpu::Stream, gpu::Event) override {}
  void wait_on_host(gpu::Event) override {}
  bool happened(gpu::Event) override { return true; }

 private:
  std::vector<std::unique_ptr<std::byte, void (*)(void*)>> host_memory_;
};

}  // namespace headroom
