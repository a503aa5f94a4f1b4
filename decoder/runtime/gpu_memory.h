#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/runtime/arena.h"
#include "decoder/runtime/events.h"

namespace headroom {

/// The memory of a decode on a GPU: places in one reservation. What is freed may be taken again at once,
/// since the GPU does its work in the order in which it was asked for. As long as nothing is reserved it only
/// writes down what is asked of it, to find out how much that will take.
class GpuMemory : public std::enable_shared_from_this<GpuMemory> {
 public:
  /// Serves `bytes` at `base`; `limit_bytes` is what messages name.
  GpuMemory(std::byte* base, int64_t bytes, int64_t limit_bytes)
      : base_(base), limit_bytes_(limit_bytes), arena_(bytes) {}
  /// Writes down. Addresses are no addresses.
  GpuMemory() : arena_(int64_t{1} << 60), asked_(std::in_place) {}

  /// Throws LimitExceeded.
  std::shared_ptr<void> allocate(int64_t bytes, Arena::End end);
  int64_t live_bytes() const { return arena_.live_bytes(); }
  int64_t peak_bytes() const { return arena_.peak_bytes(); }
  void start_window() { window_peak_bytes_ = arena_.live_bytes(); }
  int64_t window_peak_bytes() const { return window_peak_bytes_; }
  /// Views count blocks from here.
  std::byte* base() const { return base_; }

  /// The smallest reservation in which everything that was written down has its place: at least the peak of
  /// live bytes, at most `limit_bytes`. None where there is none.
  std::optional<int64_t> reservation_bytes(int64_t limit_bytes) const;

 private:
  /// A request, or, of no bytes, the freeing of what request `number` was given.
  struct Asked {
    int64_t bytes = 0;
    Arena::End end = Arena::End::low;
    int64_t number = 0;
  };
  bool fits(int64_t bytes) const;
  void freed(int64_t offset, int64_t number);

  std::byte* base_ = reinterpret_cast<std::byte*>(uintptr_t{1} << 32);
  int64_t limit_bytes_ = 0;
  Arena arena_;
  std::optional<std::vector<Asked>> asked_;
  int64_t requests_ = 0;
  int64_t window_peak_bytes_ = 0;
};

}  // namespace headroom
