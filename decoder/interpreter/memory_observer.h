#pragma once

#include <cstdint>

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
  /// What lies at `from` lies at `to` from now on, which was free. On a GPU alone.
  virtual void moved(const void* /*from*/, const void* /*to*/) {}
};

}  // namespace headroom
