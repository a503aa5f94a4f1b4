#pragma once

#include <cstdint>

namespace headroom {

/// What this process may grow by from where this begins, whoever takes the memory: what a library receives
/// from other processes no pool of ours can refuse.
class ResidentLimit {
 public:
  explicit ResidentLimit(int64_t limit_bytes);
  /// Throws LimitExceeded where it has grown by more.
  void check() const;

 private:
  int64_t limit_bytes_, begin_bytes_;
};

}  // namespace headroom
