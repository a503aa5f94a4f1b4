#include "decoder/gpu/cuda/guarded_gpu.h"

#include <utility>

#include "decoder/base/errors.h"
#include "decoder/gpu/cuda/cuda_gpu.h"
#include "decoder/gpu/cuda/device.h"

namespace headroom::gpu {
namespace {

/// Passes every call on, with the device's context current. A function that needs no context passes directly.
class GuardedGpu final : public Gpu {
 public:
  GuardedGpu(const DeviceContext& context, std::unique_ptr<Gpu> gpu)
      : context_(context), gpu_(std::move(gpu)) {}
  ~GuardedGpu() override {
    release_on_device(context_, [&] { gpu_.reset(); });
  }

  std::string device() const override {
    return on_device([&] { return gpu_->device(); });
  }
  std::string libraries() const override {
    return on_device([&] { return gpu_->libraries(); });
  }
  int64_t free_bytes() const override {
    return on_device([&] { return gpu_->free_bytes(); });
  }
  int64_t total_bytes() const override {
    return on_device([&] { return gpu_->total_bytes(); });
  }
  int64_t own_bytes() const override {
    return on_device([&] { return gpu_->own_bytes(); });
  }
  int64_t library_bytes() const override { return gpu_->library_bytes(); }

  ReservationSizes reservation_sizes() const override { return gpu_->reservation_sizes(); }
  std::byte* reserve(int64_t bytes) override {
    return on_device([&] { return gpu_->reserve(bytes); });
  }
  std::byte* reserve_host(int64_t bytes) override {
    return on_device([&] { return gpu_->reserve_host(bytes); });
  }
  /// The memory may outlive this Gpu, and another thread may free it.
  std::shared_ptr<std::byte> pin(int64_t bytes) override {
    std::shared_ptr<std::byte> pinned = on_device([&] { return gpu_->pin(bytes); });
    std::byte* const begin = pinned.get();
    return {begin, [context = context_, held = std::move(pinned)](std::byte*) mutable {
              release_on_device(context, [&] { held.reset(); });
            }};
  }
  void wait_for_lender() override {
    on_device([&] { gpu_->wait_for_lender(); });
  }
  void release() noexcept override {
    release_on_device(context_, [&] { gpu_->release(); });
  }

  void run(const Call& call) override {
    on_device([&] { gpu_->run(call); });
  }
  void copy(Stream stream, void* to, const void* from, int64_t bytes) override {
    on_device([&] { gpu_->copy(stream, to, from, bytes); });
  }
  void clear(void* memory, int64_t bytes) override {
    on_device([&] { gpu_->clear(memory, bytes); });
  }

  Event record(Stream stream) override {
    return on_device([&] { return gpu_->record(stream); });
  }
  void wait(Stream stream, Event event) override {
    on_device([&] { gpu_->wait(stream, event); });
  }
  void wait_on_host(Event event) override {
    on_device([&] { gpu_->wait_on_host(event); });
  }
  bool happened(Event event) override {
    return on_device([&] { return gpu_->happened(event); });
  }

  void open_range(const std::string& name) override { gpu_->open_range(name); }
  void close_range() override { gpu_->close_range(); }

  bool watch_allocator(AllocatorWatch watch) override {
    return on_device([&] { return gpu_->watch_allocator(std::move(watch)); });
  }

  void restart_scopes() override {
    on_device([&] { gpu_->restart_scopes(); });
  }
  std::optional<ScopeSeconds> scope_seconds() override {
    return on_device([&] { return gpu_->scope_seconds(); });
  }
  std::vector<EngineRuns> engine_runs() const override { return gpu_->engine_runs(); }
  std::vector<EngineChoice> time_engines(const std::function<void()>& work) override {
    return on_device([&] { return gpu_->time_engines(work); });
  }
  void prefer_engines(const std::vector<EngineChoice>& choices) override {
    on_device([&] { gpu_->prefer_engines(choices); });
  }

 private:
  template <typename Body>
  auto on_device(const Body& body) const -> decltype(body()) {
    const CurrentContext here(context_);
    return body();
  }
  /// Does nothing if the context is gone: its memory has gone with it.
  template <typename Body>
  static void release_on_device(const DeviceContext& context, const Body& body) noexcept {
    try {
      const CurrentContext here(context);
      body();
    } catch (const DeviceError&) {
    }
  }

  const DeviceContext context_;
  std::unique_ptr<Gpu> gpu_;
};

}  // namespace

std::unique_ptr<Gpu> open_cuda_gpu(int device, std::unique_ptr<DeviceMemory> memory) {
  require_device(device);
  auto driver = std::make_unique<DriverMemory>(bus_id(device));  // before the context, to count it
  const DeviceContext context(device);
  const CurrentContext here(context);
  auto gpu = std::make_unique<CudaGpu>(device, std::move(driver), std::move(memory));
  return std::make_unique<GuardedGpu>(context, std::move(gpu));
}

}  // namespace headroom::gpu
