#include "decoder/session/gpu_session.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "decoder/gpu/gpu_device.h"
#include "decoder/gpu/gpu_events.h"
#include "decoder/gpu/host_transfers.h"
#include "decoder/graph/errors.h"
#include "decoder/interpreter/interpreter.h"
#include "decoder/session/decode.h"
#include "decoder/session/unpacked_weights.h"

namespace headroom {
namespace {

void add_parts(gpu::Gpu& gpu, RunStats& stats) {
  const auto seconds = gpu.scope_seconds();
  if (!seconds) return;
  for (size_t i = 0; i < seconds->size(); ++i)
    stats.parts.push_back({name_of(static_cast<gpu::TimeScope>(i)), (*seconds)[i]});
}

}  // namespace

GpuSession::GpuSession(gpu::Gpu& gpu, const Model& model, const ParameterSource& weights, int64_t bytes,
                       int64_t host_bytes, std::function<void(double)> loading)
    : gpu_(gpu),
      model_(model),
      source_(unpacked_weights(model.graph, weights)),
      loading_(std::move(loading)),
      bytes_(bytes),
      host_bytes_(host_bytes),
      free_before_(gpu.free_bytes()),
      reservation_(gpu, bytes),
      staging_(gpu),
      host_(host_bytes > 0 ? gpu.reserve_host(host_bytes) : nullptr) {}

/// Weights that stay lie at the beginning of the reservation, under every plan that has them; those that come
/// pass by pass wait in the host's memory.
void GpuSession::load_weights(const Plan& plan) {
  if (plan.weights == WeightResidency::per_pass) {
    if (!source_held_) source_ = held(model_.graph, source_, loading_);
    source_held_ = true;
    return weights_.reset();
  }
  if (weights_ && weights_dtype_ == plan.request.dtype) return;
  const std::shared_ptr<void> memory(reservation_.base(), [](void*) {});
  weights_.emplace(model_.graph, all_operations(model_.graph), plan.request.dtype, source_, memory, gpu_,
                   staging_, loading_);
  weights_dtype_ = plan.request.dtype;
}

RunStats GpuSession::decode(const Plan& plan, const DryRun& dry_run, const Array& latent, PictureSink& sink,
                            EventSink* events) {
  check_latent(model_, plan, latent);
  if (dry_run.bytes() > bytes_ || dry_run.host.bytes > host_bytes_)
    throw std::logic_error("a plan takes more than its session has reserved");
  const c10::InferenceMode inference;
  std::optional<HostTransfers> transfers;
  if (dry_run.host.bytes > 0) transfers.emplace(gpu_, host_, dry_run.host);
  const auto memory = std::make_shared<GpuMemory>(reservation_.base() + dry_run.weights_bytes,
                                                  dry_run.requests, dry_run.placement, dry_run.weights_bytes);
  GpuEvents told(gpu_, model_.graph, reservation_.base(), bytes_, events);
  told.allocating(AllocationKind::weights, TensorId{-1});
  memory->observe(told.memory_observer());
  load_weights(plan);
  gpu_.wait_on_host(gpu_.record(gpu::Stream::compute));
  gpu_.restart_scopes();

  RunStats stats;
  for (const Pass& pass : plan.passes)
    stats.passes.push_back({pass.name, pass.predicted_peak_bytes, 0, pass.predicted_seconds, 0});
  const auto start = std::chrono::steady_clock::now();
  for (int64_t item = 0; item < plan.request.batch; item += plan.micro_batch) {
    const Plan micro_batch = plan_of_micro_batch(plan, item);
    memory->go_to(micro_batch.micro_batch == plan.micro_batch ? dry_run.first_micro_batch
                                                              : dry_run.last_micro_batch);
    GpuDevice device(model_.graph, micro_batch, *memory, source_, weights_ ? &*weights_ : nullptr, &gpu_,
                     &staging_);
    Interpreter interpreter(model_, micro_batch, device, transfers ? &*transfers : nullptr,
                            events != nullptr ? &told : nullptr);
    interpreter.run(latent, item, sink);
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      const PassMeasurement& measured = interpreter.measurements()[i];
      stats.passes[i].peak_bytes = std::max(stats.passes[i].peak_bytes, measured.peak_bytes);
      stats.passes[i].seconds += measured.seconds;
    }
  }
  gpu_.wait_on_host(gpu_.record(gpu::Stream::compute));
  stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  memory->stop_observing();
  told.end();
  add_parts(gpu_, stats);
  if (transfers) {
    stats.to_host_bytes = transfers->written_bytes();
    stats.from_host_bytes = transfers->read_bytes();
  }
  stats.limit_bytes = plan.limit_bytes;
  stats.predicted_peak_bytes = plan.predicted_peak_bytes;
  stats.predicted_seconds = plan.predicted_seconds;
  stats.pool_peak_bytes = dry_run.bytes();
  stats.outside_bytes = std::max<int64_t>(0, outside_growth_bytes());
  stats.peak_bytes = stats.pool_peak_bytes + stats.outside_bytes;
  stats.device = gpu_.device();
  stats.libraries = gpu_.libraries();
  stats.threads = 1;
  return stats;
}

DryRun run_dry_within_limit(const Model& model, const Plan& plan) {
  DryRun dry_run = run_dry(model, plan);
  if (dry_run.bytes() > plan.limit_bytes) {
    throw LimitExceeded("the plan takes " + std::to_string(dry_run.bytes()) +
                        " bytes of the GPU's memory, limit " + std::to_string(plan.limit_bytes));
  }
  if (dry_run.host.bytes > plan.host_limit_bytes) {
    throw LimitExceeded("the plan takes " + std::to_string(dry_run.host.bytes) +
                        " bytes of the host's memory for kept tensors, limit " +
                        std::to_string(plan.host_limit_bytes));
  }
  return dry_run;
}

RunStats decode_on_gpu(gpu::Gpu& gpu, const Model& model, const Plan& plan, const ParameterSource& weights,
                       const Array& latent, PictureSink& sink, EventSink* events,
                       const std::function<void(double)>& loading) {
  check_latent(model, plan, latent);
  const DryRun dry_run = run_dry_within_limit(model, plan);
  return GpuSession(gpu, model, weights, dry_run.bytes(), dry_run.host.bytes, loading)
      .decode(plan, dry_run, latent, sink, events);
}

}  // namespace headroom
