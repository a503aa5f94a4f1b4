#pragma once

#include <cstdint>
#include <string>

namespace headroom {

/// How far this process may grow, whoever takes the memory: no pool of ours can refuse what a library
/// receives from other processes. Two follow one another in a rank: the first holds until its decode begins.
class ResidentLimit {
 public:
  /// While ranks meet and agree. `file_bytes` is the size of the files that the rank reads into memory.
  static ResidentLimit before_decode(int64_t file_bytes);
  /// From now on. Memory beyond what `before` allows counts as growth too. A trace takes memory beside the
  /// limit.
  static ResidentLimit of_decode(int64_t limit_bytes, bool traced, const ResidentLimit& before);

  /// Throws LimitExceeded where the process has grown by more, now or at an earlier check.
  void check();

 private:
  ResidentLimit(int64_t begin_bytes, int64_t limit_bytes, std::string limit);

  int64_t begin_bytes_, limit_bytes_;
  int64_t grown_bytes_ = 0;  ///< at most, by the checks so far
  std::string limit_;        ///< in a message
};

}  // namespace headroom
