#include "decoder/torch/libtorch_memory.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/torch/allocator_tracker.h"

// Declared in c10/cuda/CUDAFunctions.cpp alone.
namespace c10::cuda::_internal {
C10_CUDA_API void setHasPrimaryContext(bool (*func)(DeviceIndex));
}

namespace headroom::gpu {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

std::atomic<c10::DeviceIndex> device_with_context = 0;
bool has_primary_context(c10::DeviceIndex device) {
  return device == device_with_context;
}

constexpr int64_t kAlignment = kLibtorchReservation.page_bytes;
/// LibTorch numbers its own pools from 1.
constexpr c10::MempoolId_t kPool{0, 0x68656164726f6f6d};

/// Allocations of this thread go to the pool as long as this lives.
class PoolScope {
 public:
  explicit PoolScope(c10::DeviceIndex device) : device_(device) {
    allocator::beginAllocateToPool(device, kPool, [](cudaStream_t) { return true; });
  }
  ~PoolScope() { allocator::endAllocateToPool(device_, kPool); }
  PoolScope(const PoolScope&) = delete;
  PoolScope& operator=(const PoolScope&) = delete;

 private:
  c10::DeviceIndex device_;
};

/// Gives the pool back to the driver, once nothing is allocated in it.
void drop_pool(c10::DeviceIndex device) {
  allocator::releasePool(device, kPool);
  allocator::emptyCache(kPool);
}

struct MemoryInfo {
  size_t free = 0, total = 0;
};
/// Memory of the current device. LibTorch's own query ends the process if it cannot restore the device.
MemoryInfo memory_info() {
  MemoryInfo info;
  const cudaError_t status = cudaMemGetInfo(&info.free, &info.total);
  if (status != cudaSuccess) throw DeviceError(std::string("cudaMemGetInfo: ") + cudaGetErrorString(status));
  return info;
}

[[noreturn]] void refuse(int64_t bytes) {
  const auto [free, total] = memory_info();
  throw LimitExceeded("the GPU has " + std::to_string(free) + " bytes free of " + std::to_string(total) +
                      ", asked for " + std::to_string(bytes));
}

void* allocate(c10::DeviceIndex device, int64_t bytes) {
  try {
    const PoolScope scope(device);
    return allocator::raw_alloc(static_cast<size_t>(bytes));
  } catch (const c10::OutOfMemoryError&) {
    drop_pool(device);
    refuse(bytes);
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw DeviceError("LibTorch's allocator: " + text.substr(0, text.find('\n')));
  }
}

void deallocate(c10::DeviceIndex device, void* memory) {
  allocator::raw_delete(memory);
  drop_pool(device);
}

bool is_aligned(const void* memory) {
  return reinterpret_cast<uintptr_t>(memory) % kAlignment == 0;
}

}  // namespace

LibtorchMemory::LibtorchMemory(int device) : device_(static_cast<c10::DeviceIndex>(device)) {
  device_with_context = device_;
  // The allocator asks whether the device has a primary context. libtorch_cuda.so answers that, which
  // programs do not load; without an answer c10 throws.
  c10::cuda::_internal::setHasPrimaryContext(has_primary_context);
}

LibtorchMemory::~LibtorchMemory() {
  release();
  if (watching_) watch_libtorch_allocator({});
}

std::string LibtorchMemory::name() const {
  return "LibTorch " HEADROOM_TORCH_VERSION;
}

bool LibtorchMemory::watch(AllocatorWatch watch) {
  const bool begins = static_cast<bool>(watch);
  const bool done = watch_libtorch_allocator(std::move(watch));
  watching_ = begins && done;
  return done;
}

std::byte* LibtorchMemory::reserve(int64_t bytes) {
  allocator::init(c10::cuda::device_count());
  const int64_t rounded = reservation_sizes().taken_bytes(bytes);
  memory_ = allocate(device_, rounded);
  auto* begin = static_cast<std::byte*>(memory_);
  if (!is_aligned(memory_)) {
    // Not seen with any driver, but drivers do not promise this alignment.
    deallocate(device_, memory_);
    memory_ = nullptr;
    memory_ = allocate(device_, rounded + kAlignment);
    begin = static_cast<std::byte*>(memory_);
    begin +=
        (kAlignment - static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory_) % kAlignment)) % kAlignment;
  }
  const size_t total = memory_info().total;
  const auto all = static_cast<size_t>(c10::CachingDeviceAllocator::StatType::AGGREGATE);
  const auto held = allocator::getDeviceStats(device_).reserved_bytes[all].current;
  fraction_before_ = allocator::getMemoryFraction(device_);
  allocator::setMemoryFraction(
      std::min(fraction_before_, static_cast<double>(held) / static_cast<double>(total)), device_);
  return begin;
}

void LibtorchMemory::release() noexcept {
  if (memory_ == nullptr) return;
  try {
    allocator::setMemoryFraction(fraction_before_, device_);
    deallocate(device_, memory_);
  } catch (const std::exception&) {  // keep the process running; the driver frees the block when it ends
  }
  memory_ = nullptr;
}

}  // namespace headroom::gpu
