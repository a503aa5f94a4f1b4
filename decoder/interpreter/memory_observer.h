#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace headroom {

/// Reported of every allocation of a decode, on whichever thread allocates and under the lock of what
/// allocates: it must be quick and must not allocate there itself.
class MemoryObserver {
 public:
  virtual ~MemoryObserver() = default;
  /// `bytes` as they are counted; live and warm as they are afterwards. On a GPU nothing is warm: what is
  /// freed stays reserved.
  virtual void allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) = 0;
  virtual void freed(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) = 0;
  /// The allocation at `from` is now at `to`, which was free. Only on a GPU.
  virtual void moved(const void* /*from*/, const void* /*to*/) {}
};

/// Memory reports to an observer for as long as this exists, so that no observer is called once it is gone.
/// The memory must outlive it.
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
