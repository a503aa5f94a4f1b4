#include "decoder/cpu/limited_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/mapped_memory.h"
#include "decoder/schedule/storage.h"

namespace headroom {
namespace {

using cpu::kAlignmentBytes, cpu::kPageBytes, cpu::kSmallestPagedBytes, cpu::round_up;

#ifdef __SANITIZE_THREAD__
constexpr int64_t kMostReserved = int64_t{1} << 38;  // ThreadSanitizer reserves most addresses
#else
constexpr int64_t kMostReserved = int64_t{1} << 42;
#endif

std::atomic<int64_t> reservations_made{0};

// Page faults on 4 KiB pages cost several times as much as on huge pages, up to a third of a decode. Touching
// any byte makes a whole huge page resident. So the pool requests huge pages only inside single allocations.
// The system must not form others by itself, because the plan does not count their memory.

}  // namespace

LimitedPool::LimitedPool(int64_t limit_bytes, int64_t resident_goal_bytes)
    : most_bytes_(limit_bytes),
      limit_bytes_(limit_bytes),
      resident_goal_bytes_(std::min(limit_bytes, resident_goal_bytes)) {
  // Addresses cost nothing; four times the limit leaves room for every order of allocations that we make.
  reserved_bytes_ =
      round_up(std::min(std::max<int64_t>(limit_bytes, kPageBytes), kMostReserved / 4) * 4, kPageBytes);
  base_ = reserve_pages(reserved_bytes_);
  if (base_ == nullptr)
    throw DeviceError("cannot reserve " + std::to_string(reserved_bytes_) + " bytes of addresses");
  ++reservations_made;
  refuse_huge_pages(base_, reserved_bytes_, base_, base_ + reserved_bytes_);
  free_[0] = {reserved_bytes_, false};
}

LimitedPool::~LimitedPool() {
  unmap_pages(base_, reserved_bytes_);
}

void* LimitedPool::allocate(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const bool small = bytes < kSmallestPagedBytes;
  // The bound keeps rounding from overflowing.
  const bool sane = bytes >= 0 && bytes <= std::min(limit_bytes_, kMostReserved);
  const int64_t rounded = sane ? cpu::allocated_bytes(std::max<int64_t>(bytes, 1)) : 0;
  if (!sane || rounded > limit_bytes_ - live_bytes_) {
    throw LimitExceeded("asked for " + std::to_string(bytes) + " bytes with " + std::to_string(live_bytes_) +
                        " live of a limit of " + std::to_string(limit_bytes_));
  }
  void* memory = nullptr;
  if (small) {
    cool_until(resident_goal_bytes_ - rounded);
    memory = std::aligned_alloc(kAlignmentBytes, static_cast<size_t>(rounded));
    if (memory == nullptr) throw DeviceError("the heap is exhausted");
    small_[memory] = rounded;
  } else {
    const int64_t offset = take_pages(rounded);
    used_[offset] = rounded;
    memory = base_ + offset;
  }
  live_bytes_ += rounded;
  peak_bytes_ = std::max(peak_bytes_, live_bytes_);
  window_peak_bytes_ = std::max(window_peak_bytes_, live_bytes_);
  peak_resident_bytes_ = std::max(peak_resident_bytes_, live_bytes_ + warm_bytes_);
  if (observer_ != nullptr) observer_->allocated(memory, rounded, live_bytes_, warm_bytes_);
  return memory;
}

std::shared_ptr<void> LimitedPool::take(int64_t bytes) {
  if (bytes == 0) return nullptr;
  return {allocate(bytes), [this](void* memory) { deallocate(memory); }};
}

std::shared_ptr<float> LimitedPool::take_floats(int64_t count) {
  return std::static_pointer_cast<float>(take(count * int64_t{sizeof(float)}));
}

void LimitedPool::deallocate(void* memory) {
  if (memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (const auto small = small_.find(memory); small != small_.end()) {
    live_bytes_ -= small->second;
    if (observer_ != nullptr) observer_->freed(memory, small->second, live_bytes_, warm_bytes_);
    small_.erase(small);
    std::free(memory);
    return;
  }
  const int64_t offset = static_cast<char*>(memory) - base_;
  const auto used = used_.find(offset);
  if (used == used_.end()) return;
  live_bytes_ -= used->second;
  add_free(offset, used->second, true);
  if (observer_ != nullptr) observer_->freed(memory, used->second, live_bytes_, warm_bytes_);
  used_.erase(used);
}

LimitedPool::Ranges::iterator LimitedPool::best_fit(int64_t bytes, bool warm) {
  auto best = free_.end();
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->second.warm != warm || range->second.bytes < bytes) continue;
    if (best == free_.end() || range->second.bytes < best->second.bytes) best = range;
  }
  return best;
}

int64_t LimitedPool::take_pages(int64_t bytes) {
  auto range = best_fit(bytes, true);
  if (range == free_.end()) {
    cool_until(resident_goal_bytes_ - bytes);
    range = best_fit(bytes, false);
    if (range == free_.end()) {
      cool_until(live_bytes_);
      range = best_fit(bytes, false);
    }
    if (range == free_.end()) throw DeviceError("the pool's addresses are fragmented");
  }
  const auto [offset, found] = *range;
  used_end_ = std::max(used_end_, offset + bytes);
  free_.erase(range);
  if (found.warm) {
    warm_bytes_ -= bytes;
  } else {
    want_huge_pages(base_ + offset, bytes);
  }
  if (found.bytes > bytes) free_[offset + bytes] = {found.bytes - bytes, found.warm};
  return offset;
}

/// Hands warm pages back, largest ranges first, until live and warm bytes together are within the goal.
void LimitedPool::cool_until(int64_t resident_goal) {
  while (live_bytes_ + warm_bytes_ > resident_goal && warm_bytes_ > 0) {
    auto largest = free_.end();
    for (auto range = free_.begin(); range != free_.end(); ++range) {
      if (range->second.warm && (largest == free_.end() || range->second.bytes > largest->second.bytes))
        largest = range;
    }
    const auto [offset, range] = *largest;
    const int64_t bytes =
        std::min(range.bytes, round_up(live_bytes_ + warm_bytes_ - resident_goal, kPageBytes));
    // Pages from the end, so that the warm rest stays contiguous.
    const int64_t cold = offset + range.bytes - bytes;
    refuse_huge_pages(base_ + cold, bytes, base_, base_ + reserved_bytes_);
    return_pages(base_ + cold, bytes);
    free_.erase(largest);
    warm_bytes_ -= bytes;
    if (bytes < range.bytes) free_[offset] = {range.bytes - bytes, true};
    add_free(cold, bytes, false);
  }
}

void LimitedPool::add_free(int64_t offset, int64_t bytes, bool warm) {
  if (warm) warm_bytes_ += bytes;
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->second.warm == warm && offset + bytes == next->first) {
    bytes += next->second.bytes;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->second.warm == warm && previous->first + previous->second.bytes == offset) {
      previous->second.bytes += bytes;
      return;
    }
  }
  free_[offset] = {bytes, warm};
}

int64_t LimitedPool::live_bytes() const {
  const std::lock_guard lock(mutex_);
  return live_bytes_;
}

int64_t LimitedPool::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

int64_t LimitedPool::peak_resident_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_resident_bytes_;
}

int64_t LimitedPool::resident_bytes() const {
  const std::lock_guard lock(mutex_);
  return present_bytes(base_, used_end_);
}

int64_t LimitedPool::reservations() {
  return reservations_made.load();
}

void LimitedPool::hold_resident(int64_t goal_bytes) {
  const std::lock_guard lock(mutex_);
  resident_goal_bytes_ = std::min(goal_bytes, limit_bytes_);
}

void LimitedPool::make_room(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  cool_until(resident_goal_bytes_ - bytes);
}

void LimitedPool::limit_to(int64_t limit_bytes) {
  const std::lock_guard lock(mutex_);
  limit_bytes_ = std::min(limit_bytes, most_bytes_);
  resident_goal_bytes_ = std::min(resident_goal_bytes_, limit_bytes_);
}

void LimitedPool::trim() {
  const std::lock_guard lock(mutex_);
  cool_until(live_bytes_);
}

void LimitedPool::restart_peak() {
  const std::lock_guard lock(mutex_);
  peak_bytes_ = live_bytes_;
}

Observation LimitedPool::observe(MemoryObserver* observer) {
  const std::lock_guard lock(mutex_);
  observer_ = observer;
  if (observer == nullptr) return {};
  int64_t live = 0;
  for_each_live([&](const void* memory, int64_t bytes) {
    live += bytes;
    observer->allocated(memory, bytes, live, warm_bytes_);
  });
  return Observation([this] { stop_observing(); });
}

void LimitedPool::stop_observing() {
  const std::lock_guard lock(mutex_);
  int64_t live = live_bytes_;
  for_each_live([&](const void* memory, int64_t bytes) {
    live -= bytes;
    observer_->freed(memory, bytes, live, warm_bytes_ + live_bytes_ - live);  // its pages stay
  });
  observer_ = nullptr;
}

template <typename F>
void LimitedPool::for_each_live(const F& f) const {
  for (const auto& [offset, bytes] : used_) f(base_ + offset, bytes);
  for (const auto& [memory, bytes] : small_) f(memory, bytes);
}

void LimitedPool::start_window() {
  const std::lock_guard lock(mutex_);
  window_peak_bytes_ = live_bytes_;
}

int64_t LimitedPool::window_peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return window_peak_bytes_;
}

}  // namespace headroom
