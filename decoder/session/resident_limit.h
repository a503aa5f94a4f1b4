#pragma once

#include <cstdint>
#include <string>

namespace headroom {

/// Limits the growth of the whole process. Our pools cannot refuse memory that a library allocates for data
/// from other processes. A rank uses two limits: one until its decode begins, then one for the decode.
class ResidentLimit {
 public:
  /// Limit while the ranks connect and agree on the plan. `file_bytes` is the size of the files that the rank
  /// reads into memory.
  static ResidentLimit before_decode(int64_t file_bytes);
  /// Limit from now on. Memory beyond what `before` allows counts as growth. If `traced`, the trace's memory
  /// is allowed on top of the limit.
  static ResidentLimit of_decode(int64_t limit_bytes, bool traced, const ResidentLimit& before);

  /// Throws LimitExceeded if the process exceeds the limit now or did at an earlier check.
  void check();

 private:
  ResidentLimit(int64_t begin_bytes, int64_t limit_bytes, std::string limit);

  int64_t begin_bytes_, limit_bytes_;
  int64_t grown_bytes_ = 0;  ///< largest growth seen by check()
  std::string limit_;        ///< the limit's description in messages
};

}  // namespace headroom
