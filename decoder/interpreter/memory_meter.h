#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace headroom {

/// Memory in use on a device, and its peak.
class MemoryMeter {
 public:
  virtual ~MemoryMeter() = default;
  virtual int64_t live_bytes() const = 0;
  /// window_peak_bytes() is the peak of live_bytes() since start_window().
  virtual void start_window() = 0;
  virtual int64_t window_peak_bytes() const = 0;
};

/// Receives every allocation of a decode, on the allocating thread and under the allocator's lock.
/// Implementations must be quick and must not allocate from the same allocator.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  /// `bytes` is the counted size. Live and warm bytes are the totals after the call. On a GPU no bytes are
  /// warm, because freed memory stays reserved.
  virtual void allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) = 0;
  virtual void freed(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) = 0;
  /// The allocation at `from` is now at `to`, which was free. Only on a GPU.
  virtual void moved(const void* /*from*/, const void* /*to*/) {}
};

/// Scope of an observation. Its destructor stops the reports, so the observer may be destroyed afterwards.
/// The observed memory must outlive it.
class [[nodiscard]] Observation {
 public:
  Observation() = default;
  /// Calls `end` once, at the end.
  explicit Observation(std::function<void()> end) : end_(std::move(end)) {}
  Observation(Observation&& other) noexcept : end_(std::exchange(other.end_, nullptr)) {}
  Observation& operator=(Observation&& other) noexcept {
    if (this == &other) return *this;
    stop();
    end_ = std::exchange(other.end_, nullptr);
    return *this;
  }
  ~Observation() { stop(); }
  void stop() {
    if (const auto end = std::exchange(end_, nullptr)) end();
  }

 private:
  std::function<void()> end_;
};

}  // namespace headroom
