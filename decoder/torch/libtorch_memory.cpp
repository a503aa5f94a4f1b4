#include "decoder/torch/libtorch_memory.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
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

/// Only device 0 is used, and its primary context exists: CudaGpu made streams in it.
bool has_primary_context(c10::DeviceIndex device) {
  return device == 0;
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

[[noreturn]] void refuse(int64_t bytes) {
  const auto [free, total] = allocator::get()->getMemoryInfo(c10::cuda::current_device());
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

LibtorchMemory::LibtorchMemory() {
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
  const c10::DeviceIndex device = c10::cuda::current_device();
  allocator::init(c10::cuda::device_count());
  const int64_t rounded = reservation_sizes().taken_bytes(bytes);
  memory_ = allocate(device, rounded);
  auto* begin = static_cast<std::byte*>(memory_);
  if (!is_aligned(memory_)) {
    // Not seen with any driver, but drivers do not promise this alignment.
    deallocate(device, memory_);
    memory_ = nullptr;
    memory_ = allocate(device, rounded + kAlignment);
    begin = static_cast<std::byte*>(memory_);
    begin +=
        (kAlignment - static_cast<int64_t>(reinterpret_cast<uintptr_t>(memory_) % kAlignment)) % kAlignment;
  }
  const size_t total = allocator::get()->getMemoryInfo(device).second;
  const auto all = static_cast<size_t>(c10::CachingDeviceAllocator::StatType::AGGREGATE);
  const auto held = allocator::getDeviceStats(device).reserved_bytes[all].current;
  fraction_before_ = allocator::getMemoryFraction(device);
  allocator::setMemoryFraction(
      std::min(fraction_before_, static_cast<double>(held) / static_cast<double>(total)), device);
  return begin;
}

void LibtorchMemory::release() noexcept {
  if (memory_ == nullptr) return;
  try {
    const c10::DeviceIndex device = c10::cuda::current_device();
    allocator::setMemoryFraction(fraction_before_, device);
    deallocate(device, memory_);
  } catch (const std::exception&) {  // keep the process running; the driver frees the block when it ends
  }
  memory_ = nullptr;
}

}  // namespace headroom::gpu
