#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "decoder/gpu/dry_run.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/gpu/transfers/card_weights.h"
#include "decoder/gpu/transfers/gpu_weights.h"
#include "decoder/gpu/transfers/host_memory.h"
#include "decoder/gpu/transfers/host_weights.h"
#include "decoder/gpu/transfers/pinned_staging.h"
#include "decoder/session/session.h"

namespace headroom {

/// Dry runs of plans, and the memory that they need together. Serves any number of sessions.
struct PreparedPlans {
  std::vector<DryRun> dry_runs;  ///< by plan
  int64_t bytes = 0;             ///< of the reservation
  int64_t host_bytes = 0;
};
/// Throws LimitExceeded if a plan needs more than its limit, and InputError if the plans make too many
/// allocations.
PreparedPlans prepare(const Model& model, const std::vector<Plan>& plans, const ReservationSizes& sizes);

/// Decodes on a GPU in one reservation, with pinned host memory beside it. Dry runs give each plan's need,
/// and the largest need sets the size. After the start the session allocates no GPU memory.
class GpuSession final : public Session {
 public:
  /// Throws what prepare() throws, before anything is allocated. Throws OutOfGpuMemory if the GPU has too
  /// little memory, and DoesNotFit if the host has too little.
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
  /// Packs the weights if they are not packed yet. Null if the host cannot pin more memory.
  const PinnedWeights* pinned_weights(Dtype dtype);
  /// Packed weights for passes that load their own. Null if the plan has no host memory for them.
  const PinnedWeights* weights_of_passes(const Plan& plan);
  /// The parameters in the GPU's memory. Null: they come from the host.
  const CardWeights* card_weights(Dtype dtype);
  /// Throws InputError if the resident weights that the GPU packed have a value that is not finite. They must
  /// be packed.
  void check_packed();

  gpu::Gpu& gpu_;
  const CardParameters* const card_;
  const ParameterSource from_card_;
  HostWeights source_;
  bool source_held_ = false;
  PinnedByDtype own_packed_;
  PinnedByDtype* const kept_packed_;  ///< the caller's; null: packed weights end with the session
  const std::function<void(double)> loading_;
  const bool measures_outside_;
  const int64_t resident_before_, free_before_;
  const std::shared_ptr<const PreparedPlans> prepared_;
  const int64_t bytes_;
  const GpuReservation reservation_;
  PinnedStaging staging_;
  StagedCopies copies_;
  const HostMemory host_;
  std::optional<CardWeights> card_weights_;
  const uint32_t* packed_flag_ = nullptr;  ///< of the packing that check_packed() has not checked yet
  std::optional<GpuWeights> weights_;
  Dtype weights_dtype_ = Dtype::fp32;
};

}  // namespace headroom
