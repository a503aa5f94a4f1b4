#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/gpu/dry_run.h"
#include "decoder/gpu/gpu_reservation.h"
#include "decoder/gpu/gpu_weights.h"
#include "decoder/gpu/host_memory.h"
#include "decoder/gpu/pinned_staging.h"
#include "decoder/gpu/pinned_weights.h"
#include "decoder/session/session.h"

namespace headroom {

/// Decodes on a GPU in one reservation, as large as the largest of its plans takes by its dry run, with
/// pinned host memory beside it. Nothing of the GPU's memory is taken after the start.
class GpuSession final : public Session {
 public:
  /// Throws LimitExceeded before anything is taken where a plan takes more than its limit, OutOfGpuMemory
  /// where the GPU has less, and DoesNotFit where the host has; InputError where the plans ask for memory too
  /// often.
  GpuSession(const SessionRequest& request, gpu::Gpu& gpu);

  int64_t held_bytes() const override { return bytes_; }
  int64_t outside_growth_bytes() const override;
  int64_t most_outside_bytes(int64_t) const override;
  int64_t resident_before_bytes() const override { return resident_before_; }
  int64_t reservations() const override { return 1; }

 private:
  class PlanRun;
  std::unique_ptr<Run> begin(size_t plan, EventSink* events) override;
  void load_weights(const Plan& plan);
  void load_resident_weights(Dtype dtype);
  /// Packs the weights where they are not there yet. Null where the host pins no more.
  const PinnedWeights* pinned_weights(Dtype dtype);
  /// For passes that bring in theirs. Null where the plan has no host memory for them.
  const PinnedWeights* weights_of_passes(const Plan& plan);

  gpu::Gpu& gpu_;
  HostWeights source_;
  bool source_held_ = false;
  PinnedByDtype own_packed_;
  PinnedByDtype* const kept_packed_;  ///< the caller's; null where packed weights end with the session
  const std::function<void(double)> loading_;
  const int64_t resident_before_, free_before_;
  const std::vector<DryRun> dry_runs_;  ///< by plan
  const int64_t bytes_, host_bytes_;
  const GpuReservation reservation_;
  PinnedStaging staging_;
  const HostMemory host_;
  std::optional<GpuWeights> weights_;
  Dtype weights_dtype_ = Dtype::fp32;
};

}  // namespace headroom
