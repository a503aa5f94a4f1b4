#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

namespace headroom {

/// All memory of a decode, with a hard limit: an allocation that would take the live bytes above the limit is
/// refused before anything is touched (LimitExceeded).
///
/// Large allocations are page ranges of one reserved stretch of addresses. Freed pages stay mapped ("warm") so
/// that the next tile finds them without page faults, but live and warm pages together never pass the limit, nor the
/// resident goal where live bytes alone are within it: what is warm is handed back to the system first. Fragmentation therefore costs addresses, never memory.
/// Small allocations come from the C++ heap and count as live bytes all the same. Thread-safe.
class Pool {
 public:
  /// `resident_goal_bytes`: what live and warm pages together are held to, the predicted peak of live bytes. A goal
  /// below what is live costs page faults, nothing else.
  Pool(int64_t limit_bytes, int64_t resident_goal_bytes);
  explicit Pool(int64_t limit_bytes) : Pool(limit_bytes, limit_bytes) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// At least 64-byte aligned. Throws LimitExceeded.
  void* allocate(int64_t bytes);
  void deallocate(void* memory);
  bool owns(const void* memory) const;

  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t live_bytes() const;
  int64_t peak_bytes() const;
  /// Largest sum of live and warm bytes: what the operating system may have seen of this pool.
  int64_t peak_resident_bytes() const;
  int64_t allocations() const;

  /// Peak since the last call of start_window().
  void start_window();
  int64_t window_peak_bytes() const;

 private:
  struct Range {
    int64_t bytes;
    bool warm;
  };
  using Ranges = std::map<int64_t, Range>;  // free page ranges by offset

  int64_t take_pages(int64_t bytes);
  Ranges::iterator best_fit(int64_t bytes, bool warm);
  void cool_until(int64_t resident_goal);
  void add_free(int64_t offset, int64_t bytes, bool warm);

  mutable std::mutex mutex_;
  int64_t limit_bytes_;
  int64_t resident_goal_bytes_;
  int64_t reserved_bytes_;
  char* base_;
  Ranges free_;
  std::unordered_map<int64_t, int64_t> used_;       // page ranges in use: offset -> bytes
  std::unordered_map<const void*, int64_t> small_;  // heap allocations in use
  int64_t live_bytes_ = 0;
  int64_t warm_bytes_ = 0;
  int64_t peak_bytes_ = 0;
  int64_t window_peak_bytes_ = 0;
  int64_t peak_resident_bytes_ = 0;
  int64_t allocations_ = 0;
};

}  // namespace headroom
