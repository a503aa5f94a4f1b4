#pragma once

#include <functional>
#include <optional>

#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/session/session.h"

namespace headroom {

/// Decodes on the CPU with memory from one pool. The pool reserves its addresses once and keeps freed pages
/// for the next decode. It does not replace the allocator of the rest of the process.
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
  /// Returns all memory except the weights to the system.
  void trim() { pool_.trim(); }
  /// True if packed weights are loaded, for plans with resident weights.
  bool has_weights() const { return weights_.has_value(); }
  /// Frees the weights. The next decode reads them again.
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
