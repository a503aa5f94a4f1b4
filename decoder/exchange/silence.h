#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// What a rank tells the others about itself, several times a second.
struct RankState {
  int64_t beat = 0;        ///< goes up as long as the process runs
  int64_t work = 0;        ///< goes up as long as the decode gets on
  int32_t waits_for = -1;  ///< the rank that it waits for, or none
  bool left = false;       ///< it has done its part, and needs nobody any more
};

/// As text for a store, and back. What is no such text is a rank that has told nothing.
std::string state_text(const RankState& state);
RankState state_of(const std::string& text);

/// Judges whether a wait for another rank is in vain. That rank may be slow, or wait in turn for a third one
/// that is:
///
///     rank 0 waits for 1      1 waits for 2      2 computes: its work goes up      -> wait on
///     rank 0 waits for 1      1 waits for 2      2 stands still for the timeout    -> rank 2 is to blame
///
/// so a slow rank is waited for, and of one that hangs all say the same.
class Silence {
 public:
  /// A wait of `self` for `peer` begins. Times are in seconds of any clock.
  Silence(int32_t self, int32_t peer, double now, double timeout);

  /// Of all ranks' states as they are known now: why the wait is in vain, in one line, or nothing.
  std::optional<std::string> verdict(const std::vector<RankState>& states, double now);

 private:
  struct Heard {
    RankState state;
    double beat_at = 0, work_at = 0;  ///< when these last went up
  };
  std::string blame(int32_t rank, const char* of_what) const;

  const int32_t self_, peer_;
  const double begin_, timeout_;
  std::vector<Heard> heard_;
};

}  // namespace headroom
