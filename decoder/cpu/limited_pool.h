#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "decoder/interpreter/memory_meter.h"

namespace headroom {

/// Provides all memory of a decode, under a hard limit. An allocation that would raise the live bytes above
/// the limit throws LimitExceeded before any memory is touched.
///
/// Large allocations are page ranges of one reserved segment of addresses. Freed pages stay mapped ("warm"),
/// so that the next tile avoids page faults. Live and warm pages together never exceed the limit. They exceed
/// the resident goal only if live bytes alone do: the pool returns warm pages to the system first. So
/// fragmentation costs addresses, never memory. Small allocations come from the C++ heap and also count as
/// live bytes. Thread-safe.
class LimitedPool final : public MemoryMeter {
 public:
  /// `resident_goal_bytes` bounds live and warm pages together. Use the predicted peak of live bytes. A goal
  /// below the live bytes only costs page faults.
  LimitedPool(int64_t limit_bytes, int64_t resident_goal_bytes);
  explicit LimitedPool(int64_t limit_bytes) : LimitedPool(limit_bytes, limit_bytes) {}
  ~LimitedPool() override;
  LimitedPool(const LimitedPool&) = delete;
  LimitedPool& operator=(const LimitedPool&) = delete;

  /// At least 64-byte aligned. Throws LimitExceeded.
  void* allocate(int64_t bytes);
  void deallocate(void* memory);
  /// Like allocate(), but the last copy of the pointer frees the memory. The pool must outlive it. Null for
  /// 0.
  std::shared_ptr<void> take(int64_t bytes);
  std::shared_ptr<float> take_floats(int64_t count);

  /// Sets the resident goal for live and warm bytes together. A goal below the live bytes only costs page
  /// faults.
  void hold_resident(int64_t goal_bytes);

  /// Returns warm pages to the system until live and warm bytes are this far below the resident goal. For
  /// memory that the caller takes elsewhere, before its next allocation here.
  void make_room(int64_t bytes);

  /// Sets the limit for later allocations, at most the limit that the pool was made with. Live memory stays.
  void limit_to(int64_t limit_bytes);
  /// Returns all free pages to the system.
  void trim();

  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t live_bytes() const override;
  int64_t peak_bytes() const;
  /// Largest sum of live and warm bytes: what the operating system may have seen of this pool.
  int64_t peak_resident_bytes() const;
  /// Reports to `observer`, which may be null, until the observation ends. Memory that is live at the start
  /// is reported as allocated, and memory that is live at the end as freed.
  Observation observe(MemoryObserver* observer);
  /// Bytes of the reserved segment that are in memory now, by the system's count. Live pages that nothing has
  /// touched yet do not count.
  int64_t resident_bytes() const;
  /// Address ranges that all pools of this process have reserved so far.
  static int64_t reservations();

  /// Resets peak_bytes() to the bytes that are live now.
  void restart_peak();
  void start_window() override;
  int64_t window_peak_bytes() const override;

 private:
  struct Range {
    int64_t bytes;
    bool warm;
  };
  using Ranges = std::map<int64_t, Range>;  // free page ranges by offset

  void stop_observing();
  /// Calls f(memory, bytes) for each live allocation.
  template <typename F>
  void for_each_live(const F& f) const;
  int64_t take_pages(int64_t bytes);
  Ranges::iterator best_fit(int64_t bytes, bool warm);
  void cool_until(int64_t resident_goal);
  void add_free(int64_t offset, int64_t bytes, bool warm);

  mutable std::mutex mutex_;
  const int64_t most_bytes_;  ///< the largest limit
  int64_t limit_bytes_;
  int64_t resident_goal_bytes_;
  int64_t reserved_bytes_;
  char* base_;
  int64_t used_end_ = 0;  ///< offset past the last page that was ever handed out
  Ranges free_;
  std::unordered_map<int64_t, int64_t> used_;       // page ranges in use: offset -> bytes
  std::unordered_map<const void*, int64_t> small_;  // heap allocations in use
  int64_t live_bytes_ = 0;
  int64_t warm_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  int64_t window_peak_bytes_ = 0;
  int64_t peak_resident_bytes_ = 0;
  MemoryObserver* observer_ = nullptr;
};

}  // namespace headroom
