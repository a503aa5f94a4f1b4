#pragma once

#include <functional>
#include <optional>
#include <string>

#include "decoder/cpu/packed_weights.h"
#include "decoder/cpu/pool.h"
#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "decoder/torch/pool_allocator.h"

namespace headroom {

/// Starts LibTorch and runs one convolution, so that what libraries allocate once is there before anything is
/// measured. Idempotent. `threads` of 0 leaves LibTorch's choice.
void start_libraries(int threads);

/// What decides times and workspaces beside the processor, e.g. "Headroom 0.1.0 for avx512, LibTorch 2.11.0".
std::string library_versions();
/// The processor's name and the threads in use.
std::string device_name();
int threads_in_use();

/// Throws InputError where the latent does not have the plan's shape.
void check_latent(const Model& model, const Plan& plan, const Array& latent);

/// What a session's pool may take.
struct PoolSize {
  int64_t limit_bytes = 0;  ///< hard: plans' limit_bytes less their reserve_bytes
  int64_t resident_goal_bytes =
      0;  ///< for live and warm pages together: the largest predicted peak of live bytes
};

/// Decodes of one model, one after another, from one pool: its addresses are reserved once, its freed pages
/// stay for the next decode, and weights are loaded once. While it lives, LibTorch's CPU tensors come from
/// its pool. start_libraries() first.
class DecodeSession {
 public:
  /// `loading` is told the share of the weights that is there. All references must outlive the session.
  DecodeSession(const Model& model, const ParameterSource& weights, const PoolSize& size,
                std::function<void(double)> loading = {});

  /// Runs the whole plan: every micro-batch of the batch, output; weights before it where they are not there
  /// yet. Results do not depend on what ran before. Throws InputError where the latent does not have the
  /// plan's shape or the plan's dtype cannot be run; LimitExceeded, DeviceError. The sink is not finished:
  /// that is the caller's, once all is well.
  RunStats decode(const Plan& plan, const Array& latent, PictureSink& sink, EventSink* events);

  const Pool& pool() const { return pool_; }
  /// What this process held when the session began.
  int64_t resident_before_bytes() const { return resident_before_; }
  /// What it holds outside the pool now, less that.
  int64_t outside_growth_bytes() const;

 private:
  const Weights& load_weights();

  const Model& model_;
  const ParameterSource& source_;
  std::function<void(double)> loading_;
  int64_t resident_before_;
  Pool pool_;
  PoolScope scope_;
  std::optional<Weights> weights_;
};

/// A session of one decode, within the plan's limit, on the device that the plan is for. A GPU is opened
/// where `gpu` is null.
RunStats decode(const Model& model, const Plan& plan, const ParameterSource& weights, const Array& latent,
                PictureSink& sink, EventSink* events, const std::function<void(double)>& loading = {},
                gpu::Gpu* gpu = nullptr);

}  // namespace headroom
