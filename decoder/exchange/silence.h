#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// State that a rank publishes several times a second.
struct RankState {
  int64_t beat = 0;        ///< increases while the process runs
  int64_t work = 0;        ///< increases while the decode makes progress
  int32_t waits_for = -1;  ///< rank that this rank waits for; -1: none
  bool left = false;       ///< this rank is done and needs no other rank
};

/// Converts to text for a store, and back. Malformed text gives the default state.
std::string state_text(const RankState& state);
RankState state_of(const std::string& text);

/// Decides when to give up waiting for another rank. That rank may be slow, or wait in turn for a slow one:
///
///     rank 0 waits for 1      1 waits for 2      2 computes: its work goes up      -> wait on
///     rank 0 waits for 1      1 waits for 2      2 stands still for the timeout    -> rank 2 is to blame
///
/// So ranks wait for a slow rank, and all of them blame the same hanging rank.
class Silence {
 public:
  /// Starts a wait of `self` for `peer`. Times are in seconds of any one clock.
  Silence(int32_t self, int32_t peer, double now, double timeout);

  /// Returns one line that names the rank to blame, or nullopt to keep waiting. `states` are the latest
  /// states of all ranks.
  std::optional<std::string> verdict(const std::vector<RankState>& states, double now);

 private:
  struct Heard {
    RankState state;
    double beat_at = 0, work_at = 0;  ///< time of their last increase
  };
  std::string blame(int32_t rank, const char* of_what) const;

  const int32_t self_, peer_;
  const double begin_, timeout_;
  std::vector<Heard> heard_;
};

}  // namespace headroom
