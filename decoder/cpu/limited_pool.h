#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "decoder/interpreter/memory_observer.h"

namespace headroom {

/// All memory of a decode, with a hard limit: an allocation that would take the live bytes above the limit is
/// refused before anything is touched (LimitExceeded).
///
/// Large allocations are page ranges of one reserved segment of addresses. Freed pages stay mapped ("warm")
/// so that the next tile finds them without page faults, but live and warm pages together never pass the
/// limit, nor the resident goal where live bytes alone are within it: what is warm is handed back to the
/// system first. Fragmentation therefore costs addresses, never memory. Small allocations come from the C++
/// heap and count as live bytes all the same. Thread-safe.
class LimitedPool {
 public:
  /// `resident_goal_bytes`: what live and warm pages together are held to, the predicted peak of live bytes.
  /// A goal below what is live costs page faults, nothing else.
  LimitedPool(int64_t limit_bytes, int64_t resident_goal_bytes);
  explicit LimitedPool(int64_t limit_bytes) : LimitedPool(limit_bytes, limit_bytes) {}
  ~LimitedPool();
  LimitedPool(const LimitedPool&) = delete;
  LimitedPool& operator=(const LimitedPool&) = delete;

  /// At least 64-byte aligned. Throws LimitExceeded.
  void* allocate(int64_t bytes);
  void deallocate(void* memory);
  /// Like allocate(), but the last copy of the pointer frees the memory. The pool must outlive it. Null for
  /// 0.
  std::shared_ptr<void> take(int64_t bytes);
  std::shared_ptr<float> take_floats(int64_t count);

  /// From now on live and warm bytes together stay within this goal wherever the live ones alone do. A goal
  /// below what is live costs page faults, nothing else.
  void hold_resident(int64_t goal_bytes);

  /// Sets the limit for later allocations, at most the limit that the pool was made with. Live memory stays.
  void limit_to(int64_t limit_bytes);
  /// Hands back to the system all that is free.
  void trim();

  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t live_bytes() const;
  int64_t peak_bytes() const;
  /// Largest sum of live and warm bytes: what the operating system may have seen of this pool.
  int64_t peak_resident_bytes() const;
  /// Reports to this observer until the observation ends. Null for none. It sees first what is live already
  /// as allocated, and last what is still live as freed.
  Observation observe(MemoryObserver* observer);
  /// The system's own count: bytes of the reserved segment that are in memory now. Live bytes that nothing
  /// has touched yet are not among them.
  int64_t resident_bytes() const;
  /// Address ranges that all pools of this process have reserved so far.
  static int64_t reservations();

  /// Starts peak_bytes() afresh from what is live now.
  void restart_peak();
  /// Peak since the last call of start_window().
  void start_window();
  int64_t window_peak_bytes() const;

 private:
  struct Range {
    int64_t bytes;
    bool warm;
  };
  using Ranges = std::map<int64_t, Range>;  // free page ranges by offset

  void stop_observing();
  /// Calls f(memory, bytes) for all that is live.
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
