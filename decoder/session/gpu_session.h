#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "decoder/cpu/packed_weights.h"
#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/dry_run.h"
#include "decoder/gpu/gpu_reservation.h"
#include "decoder/gpu/gpu_weights.h"
#include "decoder/gpu/pinned_staging.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"

namespace headroom {

/// Decodes of one model on a GPU, one after another, in one reservation: weights that stay are loaded once.
/// Nothing of the GPU's memory is taken after the start. start_libraries() first.
class GpuSession {
 public:
  /// Reserves `bytes`, and `host_bytes` of pinned host memory: the most that any of the decodes takes, by its
  /// dry run. `loading` is told the share of the weights that is there. All references must outlive the
  /// session. Throws LimitExceeded.
  GpuSession(gpu::Gpu& gpu, const Model& model, const ParameterSource& weights, int64_t bytes,
             int64_t host_bytes, std::function<void(double)> loading = {});

  /// Runs the whole plan, of which `dry run` is. Throws as DecodeSession::decode() does.
  RunStats decode(const Plan& plan, const DryRun& dry_run, const Array& latent, PictureSink& sink,
                  EventSink* events);

  int64_t reserved_bytes() const { return bytes_; }
  /// What the card has lost since the session began, beside the reservation: libraries took it.
  int64_t outside_growth_bytes() const { return free_before_ - gpu_.free_bytes() - bytes_; }

 private:
  void load_weights(const Plan& plan);

  gpu::Gpu& gpu_;
  const Model& model_;
  HostWeights source_;
  bool source_held_ = false;
  const std::function<void(double)> loading_;
  const int64_t bytes_, host_bytes_, free_before_;
  const GpuReservation reservation_;
  PinnedStaging staging_;
  std::byte* const host_;
  std::optional<GpuWeights> weights_;
  Dtype weights_dtype_ = Dtype::fp32;
};

/// A session of one decode. Throws LimitExceeded before anything is taken where the plan takes more than its
/// limit.
RunStats decode_on_gpu(gpu::Gpu& gpu, const Model& model, const Plan& plan, const ParameterSource& weights,
                       const Array& latent, PictureSink& sink, EventSink* events,
                       const std::function<void(double)>& loading = {});

/// The dry run of a plan that is about to be decoded. Throws LimitExceeded where that takes more than its
/// limit.
DryRun run_dry_within_limit(const Model& model, const Plan& plan);

}  // namespace headroom
