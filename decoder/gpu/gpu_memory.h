#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

#include "decoder/gpu/memory_requests.h"
#include "decoder/gpu/placement.h"
#include "decoder/gpu/stacked_offsets.h"
#include "decoder/interpreter/memory_observer.h"

namespace headroom {

/// The memory of a decode on a GPU: part of one reservation, in which everything has the place that was found
/// for it before. A decode must ask for what its dry run asked for, in the same order. What is measured
/// step by step has no dry run, and its memory is handed out as it is asked for. What is handed back may be
/// given out again at once, since the GPU does its work in the order in which it was asked for.
class GpuMemory : public std::enable_shared_from_this<GpuMemory> {
 public:
  /// For a dry run: writes down what is asked of it. Addresses are no addresses.
  GpuMemory() = default;
  /// Serves, at `base`, what `requests` has, at `placement`'s places. Both must outlive it. `held_bytes` lie
  /// elsewhere in the reservation and count as live throughout.
  GpuMemory(std::byte* base, const MemoryRequests& requests, const Placement& placement, int64_t held_bytes)
      : base_(base),
        expected_(&requests),
        placement_(&placement),
        held_bytes_(held_bytes),
        live_bytes_(held_bytes) {}
  /// Hands out what lies at `base`, which is so large.
  GpuMemory(std::byte* base, int64_t bytes) : base_(base), stacked_(bytes) {}
  /// The same with addresses that are no addresses: what would be taken.
  explicit GpuMemory(int64_t bytes) : stacked_(bytes) {}

  /// Throws std::logic_error where that is not what the dry run asked for, LimitExceeded where memory that
  /// is handed out has an end.
  std::shared_ptr<void> allocate(int64_t bytes);
  /// Goes on as from the dry run's event of this number: micro-batches of a batch are alike.
  void go_to(size_t event) { next_ = event; }

  void begin_scope() { recorded_.begin_scope(); }
  const MemoryRequests& requests() const { return recorded_; }
  /// Null for none. It must outlive all that is freed while it observes. What is held elsewhere is the first
  /// that it is told of, as memory that ends where this one begins, and the last that it sees freed.
  void observe(MemoryObserver* observer);
  void stop_observing();
  int64_t live_bytes() const { return live_bytes_; }
  void start_window() { window_peak_bytes_ = live_bytes_; }
  int64_t window_peak_bytes() const { return window_peak_bytes_; }
  /// Of memory that is handed out: how much of it has been needed so far.
  int64_t most_bytes() const { return stacked_ ? stacked_->most_bytes() : 0; }
  /// Views count blocks from here.
  std::byte* base() const { return base_; }

 private:
  struct Given {
    int64_t number = 0;  ///< of the request
    int64_t offset = 0;
  };
  Given ask(int64_t bytes);
  void hand_back(const void* place, int64_t number, int64_t bytes) noexcept;

  std::byte* base_ = reinterpret_cast<std::byte*>(uintptr_t{1} << 32);
  MemoryRequests recorded_;
  int64_t recorded_bytes_ = 0;
  std::optional<StackedPlaces> stacked_;
  const MemoryRequests* expected_ = nullptr;
  const Placement* placement_ = nullptr;
  size_t next_ = 0;
  bool as_run_dry_ = true;
  int64_t held_bytes_ = 0;
  int64_t live_bytes_ = 0;
  int64_t window_peak_bytes_ = 0;
  MemoryObserver* observer_ = nullptr;
};

}  // namespace headroom
