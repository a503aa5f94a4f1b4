#pragma once

#include <functional>
#include <optional>

#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/session/session.h"

namespace headroom {

/// Decodes on the CPU from one pool: its addresses are reserved once, and its freed pages stay for the next
/// decode. All that they take is taken from it; nothing else of the process allocates otherwise than it
/// would.
class CpuSession final : public Session {
 public:
  explicit CpuSession(const SessionRequest& request);

  int64_t held_bytes() const override { return pool_.peak_resident_bytes(); }
  int64_t outside_growth_bytes() const override;
  int64_t most_outside_bytes(int64_t rss_growth_bytes) const override;
  int64_t resident_before_bytes() const override { return resident_before_; }
  int64_t reservations() const override { return LimitedPool::reservations() - reservations_before_; }
  const LimitedPool& pool() const { return pool_; }

  // For a session inside another program's process, where the limit can change from decode to decode.

  /// Limits later decodes, at most to the limit that the session was opened with. Live and warm pages
  /// together stay within `resident_goal_bytes`, unless the live ones alone exceed it.
  void limit_to(int64_t limit_bytes, int64_t resident_goal_bytes);
  /// Hands all but the weights back to the system.
  void trim() { pool_.trim(); }
  /// True if packed weights are loaded, for plans with resident weights.
  bool has_weights() const { return weights_.has_value(); }
  /// Weights are read again before the next decode.
  void drop_weights() { weights_.reset(); }

 private:
  class PlanRun;
  std::unique_ptr<Run> begin(size_t plan, EventSink* events) override;
  const Weights& load_weights();

  const ParameterSource& source_;
  const std::function<void(double)> loading_;
  const int64_t resident_before_;
  const int64_t reservations_before_;
  LimitedPool pool_;
  std::optional<Weights> weights_;
};

}  // namespace headroom
