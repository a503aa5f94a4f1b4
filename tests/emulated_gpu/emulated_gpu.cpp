#include "tests/emulated_gpu/emulated_gpu.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/gpu/kernels/kernels.h"

// These two functions belong to AddressSanitizer's library. They are null without it.
extern "C" {
__attribute__((weak)) void __asan_poison_memory_region(const volatile void* begin, size_t bytes);
__attribute__((weak)) void __asan_unpoison_memory_region(const volatile void* begin, size_t bytes);
}

namespace headroom::gpu {
namespace {

constexpr size_t kAlignment = 4096;
constexpr int64_t kSegmentBytes = int64_t{2} << 20;
constexpr const char* kCalls[] = {
    "Gather",      "Copy",        "Add",        "Normalise", "PixelNorm",       "Upsample",
    "Shuffle",     "Fold",        "Gate",       "Modulate",  "Interpolate",     "UnfoldFrames",
    "Activate",    "FillOutside", "AddMoments", "Affine",    "AddKeyValueSums", "LinearAttention",
    "Convolve",    "Interleave",  "Attend",     "Emit",      "EmitPlanes",      "LoadPlanes",
    "CheckFinite", "Checksum",    "Pack"};
static_assert(std::size(kCalls) == std::variant_size_v<Call>);

size_t rounded_bytes(int64_t bytes) {
  const size_t rounded = (static_cast<size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  return std::max(rounded, kAlignment);
}

/// Large blocks that were freed, for the next decodes. Each decode takes 40 MiB of staging, and the fresh
/// pages would take longer than the decode of a small model.
class SpareBlocks {
 public:
  SpareBlocks() { blocks_.reserve(kMost + 1); }  // hand_back() may not throw
  std::byte* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(blocks_.begin(), blocks_.end(),
                                    [&](const Block& block) { return block.bytes == bytes; });
    if (found == blocks_.end()) return static_cast<std::byte*>(std::aligned_alloc(kAlignment, bytes));
    std::byte* const begin = found->begin;
    blocks_.erase(found);
    if (__asan_unpoison_memory_region) __asan_unpoison_memory_region(begin, bytes);
    return begin;
  }
  void hand_back(std::byte* begin, size_t bytes) {
    if (bytes < kLeastBytes) return std::free(begin);
    const std::lock_guard lock(mutex_);
    if (__asan_poison_memory_region) __asan_poison_memory_region(begin, bytes);
    blocks_.push_back({begin, bytes});
    if (blocks_.size() <= kMost) return;
    if (__asan_unpoison_memory_region)
      __asan_unpoison_memory_region(blocks_.front().begin, blocks_.front().bytes);
    std::free(blocks_.front().begin);
    blocks_.erase(blocks_.begin());
  }

 private:
  static constexpr size_t kLeastBytes = size_t{4} << 20, kMost = 6;
  struct Block {
    std::byte* begin;
    size_t bytes;
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

SpareBlocks& spare_blocks() {
  static auto* const blocks = new SpareBlocks;  // outlives every emulated GPU
  return *blocks;
}

AllocatorEvent segment(AllocatorEvent::What what, const std::byte* memory, int64_t bytes) {
  const int64_t rounded = std::max<int64_t>(1, (bytes + kSegmentBytes - 1) / kSegmentBytes) * kSegmentBytes;
  return {what, reinterpret_cast<uintptr_t>(memory), rounded, 0};
}

}  // namespace

std::byte* EmulatedGpu::take(int64_t bytes, bool on_device) {
  const size_t rounded = rounded_bytes(bytes);
  const bool lent = lent_ && on_device;
  auto* memory = lent ? lent_->reserve(bytes) : spare_blocks().take(rounded);
  std::memset(memory, 0xff, lent ? static_cast<size_t>(bytes) : rounded);  // NaNs in every type
  memory_.push_back({memory, bytes, on_device});
  return memory;
}

std::byte* EmulatedGpu::reserve(int64_t bytes) {
  if (bytes > free_bytes()) {
    if (watch_) watch_({AllocatorEvent::What::refused, 0, bytes, free_bytes()});
    throw LimitExceeded("the emulated GPU does not have that much");
  }
  reserved_bytes_ += bytes;
  most_reserved_bytes_ = std::max(most_reserved_bytes_, reserved_bytes_);
  ++reservations_;
  std::byte* memory = take(bytes, true);
  if (watch_) watch_(segment(AllocatorEvent::What::taken, memory, bytes));
  return memory;
}

std::byte* EmulatedGpu::reserve_host(int64_t bytes) {
  return take(bytes, false);
}

std::shared_ptr<std::byte> EmulatedGpu::pin(int64_t bytes) {
  std::byte* const begin = take(bytes, false);
  pinned_.push_back(memory_.back());
  memory_.pop_back();
  return {begin, [this, bytes](std::byte* memory) {
            std::erase_if(pinned_, [&](const Memory& each) { return each.begin == memory; });
            spare_blocks().hand_back(memory, rounded_bytes(bytes));
          }};
}

void EmulatedGpu::release() noexcept {
  for (const Memory& memory : memory_) {
    if (memory.on_device && watch_)
      watch_(segment(AllocatorEvent::What::returned, memory.begin, memory.bytes));
    if (lent_ && memory.on_device) {
      lent_->release();
    } else {
      spare_blocks().hand_back(memory.begin, rounded_bytes(memory.bytes));
    }
  }
  memory_.clear();
  reserved_bytes_ = 0;
  hazards_ = {};
}

bool EmulatedGpu::watch_allocator(AllocatorWatch watch) {
  watch_ = std::move(watch);
  return true;
}

void EmulatedGpu::check(const std::vector<Access>& accesses) const {
  for (const Access& access : accesses) {
    const auto has_it = [&](const Memory& memory) {
      return memory.begin <= access.begin && access.begin + access.bytes <= memory.begin + memory.bytes;
    };
    if (std::none_of(memory_.begin(), memory_.end(), has_it) &&
        std::none_of(pinned_.begin(), pinned_.end(), has_it))
      throw std::logic_error("touches memory outside of the reservations");
  }
}

void EmulatedGpu::run(const Call& call) {
  const std::vector<Access> accesses = accesses_of(call);
  check(accesses);
  hazards_.work(Stream::compute, kCalls[call.index()], accesses);
  gpu::run(call, nullptr);
  ++calls_;
}

void EmulatedGpu::copy(Stream stream, void* to, const void* from, int64_t bytes) {
  const std::vector<Access> accesses{{static_cast<const std::byte*>(from), bytes, false},
                                     {static_cast<std::byte*>(to), bytes, true}};
  check(accesses);
  hazards_.work(stream, "a copy", accesses);
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void EmulatedGpu::clear(void* memory, int64_t bytes) {
  const std::vector<Access> accesses{{static_cast<std::byte*>(memory), bytes, true}};
  check(accesses);
  hazards_.work(Stream::compute, "clear", accesses);
  std::memset(memory, 0, static_cast<size_t>(bytes));
}

}  // namespace headroom::gpu
