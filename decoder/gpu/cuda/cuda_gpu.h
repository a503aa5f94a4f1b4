#pragma once

#include <cudnn.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/cuda/device.h"
#include "decoder/gpu/cuda/events.h"

namespace headroom::gpu {

class CublasProducts;
class CudaAttention;
class CudnnConvolution;

/// A GPU driven through cuDNN, cuBLASLt and our own kernels. All functions, the constructor and the
/// destructor require the device's context to be current: open_cuda_gpu() guards them.
class CudaGpu final : public Gpu {
 public:
  /// `device` is CUDA's number. Reserves GPU memory from `memory`. `driver` was opened before the CUDA
  /// context, to count it. Throws DeviceError.
  CudaGpu(int device, std::unique_ptr<DriverMemory> driver, std::unique_ptr<DeviceMemory> memory);
  ~CudaGpu() override;

  std::string device() const override;
  std::string libraries() const override;
  int64_t free_bytes() const override;
  int64_t total_bytes() const override;
  int64_t own_bytes() const override;
  int64_t library_bytes() const override { return library_bytes_; }

  ReservationSizes reservation_sizes() const override { return memory_->reservation_sizes(); }
  std::byte* reserve(int64_t bytes) override;
  std::byte* reserve_host(int64_t bytes) override;
  std::shared_ptr<std::byte> pin(int64_t bytes) override;
  void wait_for_lender() override;
  void release() noexcept override;

  void run(const Call& call) override;
  void copy(Stream stream, void* to, const void* from, int64_t bytes) override;
  void clear(void* memory, int64_t bytes) override;

  Event record(Stream stream) override;
  void wait(Stream stream, Event event) override;
  void wait_on_host(Event event) override;
  bool happened(Event event) override;

  void open_range(const std::string& name) override;
  void close_range() override;

  bool watch_allocator(AllocatorWatch watch) override { return memory_->watch(std::move(watch)); }

  void restart_scopes() override;
  std::optional<ScopeSeconds> scope_seconds() override;
  std::vector<EngineRuns> engine_runs() const override;
  std::vector<EngineChoice> time_engines(const std::function<void()>& work) override;
  void prefer_engines(const std::vector<EngineChoice>& choices) override;

 private:
  cudaStream_t stream(Stream stream) const { return streams_[static_cast<size_t>(stream)]; }
  void convolve(const Convolve& call);
  void attend(const Attend& call);
  void make_streams();
  void close() noexcept;

  const int device_;
  const std::unique_ptr<DriverMemory> driver_;
  int64_t used_before_ = 0;  ///< if NVML is missing: use right after the context
  std::array<cudaStream_t, kStreams> streams_{};
  cudnnHandle_t cudnn_ = nullptr;
  std::unique_ptr<CudnnConvolution> convolution_;
  int64_t own_convolutions_ = 0;  ///< convolutions by our own kernels since restart_scopes()
  std::unique_ptr<CublasProducts> products_;
  std::unique_ptr<Events> events_;
  std::unique_ptr<CudaAttention> attention_;
  std::unique_ptr<CudaStamps> stamps_;
  std::unique_ptr<ScopeTimer> timer_;  ///< null until restart_scopes()
  const std::unique_ptr<DeviceMemory> memory_;
  struct PinnedBlock {
    std::shared_ptr<std::byte> memory;
    int64_t bytes = 0;
  };
  std::vector<PinnedBlock> host_memory_;
  std::vector<PinnedBlock> spare_host_memory_;  ///< small blocks kept for reuse: pinning is slow
  int64_t library_bytes_ = 0;
};

}  // namespace headroom::gpu
