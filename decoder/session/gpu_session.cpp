#include "decoder/session/gpu_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/gpu/dry_run.h"
#include "decoder/gpu/gpu_device.h"
#include "decoder/gpu/gpu_events.h"
#include "decoder/gpu/transfers/host_transfers.h"
#include "decoder/gpu/transfers/host_weights.h"
#include "decoder/schedule/storage.h"

namespace headroom {
namespace {

void add_parts(gpu::Gpu& gpu, RunStats& stats) {
  const auto seconds = gpu.scope_seconds();
  if (!seconds) return;
  for (size_t i = 0; i < seconds->size(); ++i)
    stats.parts.push_back({name_of(static_cast<gpu::TimeScope>(i)), (*seconds)[i]});
}

void add_engines(const gpu::Gpu& gpu, RunStats& stats) {
  for (const gpu::EngineRuns& each : gpu.engine_runs())
    stats.engines.push_back({each.name, each.compiled, each.runs});
}

std::vector<DryRun> dry_runs_of(const Model& model, const std::vector<Plan>& plans,
                                const ReservationSizes& sizes) {
  std::vector<DryRun> runs;
  int64_t requests = 0;
  for (size_t i = 0; i < plans.size(); ++i) {
    try {
      runs.push_back(run_dry_within_limit(model, plans[i], sizes));
    } catch (const LimitExceeded& refused) {
      if (plans.size() == 1) throw;
      throw LimitExceeded("plans[" + std::to_string(i) + "]: " + refused.what());
    }
    requests += runs[i].requests.count();
    if (requests > MemoryRequests::kMost)
      throw InputError("its plans make more than " + std::to_string(MemoryRequests::kMost) +
                       " allocations; expected fewer plans, or larger tiles");
  }
  return runs;
}

}  // namespace

PreparedPlans prepare(const Model& model, const std::vector<Plan>& plans, const ReservationSizes& sizes) {
  PreparedPlans prepared{dry_runs_of(model, plans, sizes)};
  for (const DryRun& run : prepared.dry_runs) {
    prepared.bytes = std::max(prepared.bytes, run.bytes());
    prepared.host_bytes = std::max(prepared.host_bytes, run.host.bytes);
  }
  prepared.bytes = sizes.taken_bytes(prepared.bytes);
  return prepared;
}

class GpuSession::PlanRun final : public Session::Run {
 public:
  PlanRun(GpuSession& session, const Plan& plan, const DryRun& dry_run, EventSink* events)
      : session_(session),
        plan_(plan),
        dry_run_(dry_run),
        observed_(events != nullptr),
        memory_(std::make_shared<GpuMemory>(session.reservation_.base() + dry_run.weights_bytes,
                                            dry_run.requests, dry_run.placement, dry_run.weights_bytes)),
        events_(session.gpu_, session.model_.graph, session.reservation_.base(), session.bytes_, events) {
    if (dry_run.host.bytes > 0) transfers_.emplace(session.gpu_, session.host_, dry_run.host);
    events_.allocating(MemoryKind::weights, TensorId{-1});
    observation_ = memory_->observe(events_.memory_observer());
    session.load_weights(plan);
    pinned_ = session.weights_of_passes(plan);
    if (pinned_ != nullptr) ahead_ = weights_ahead(dry_run);
    session.gpu_.prefer_engines(plan.engines);
    wait();
    session.check_packed();
    session.gpu_.restart_scopes();
    start_ = std::chrono::steady_clock::now();
  }

  std::unique_ptr<Device> device(const Plan& micro_batch) override {
    const bool full = micro_batch.micro_batch == plan_.micro_batch;
    memory_->go_to(full ? dry_run_.first_micro_batch : dry_run_.last_micro_batch);
    const WeightSource weights{session_.source_, session_.weights_ ? &*session_.weights_ : nullptr, pinned_,
                               full && pinned_ != nullptr ? &ahead_ : nullptr,
                               session_.card_weights(plan_.request.dtype)};
    return std::make_unique<GpuDevice>(session_.model_.graph, micro_batch, *memory_, weights,
                                       session_.staging_);
  }
  BlockTransfers* transfers() override { return transfers_ ? &*transfers_ : nullptr; }
  EventSink* events() override { return observed_ ? &events_ : nullptr; }
  std::chrono::steady_clock::time_point start() const override { return start_; }
  void wait() override { session_.gpu_.wait_on_host(session_.gpu_.record(gpu::Stream::compute)); }
  void finish(RunStats& stats) override {
    observation_.stop();
    events_.end();
    add_parts(session_.gpu_, stats);
    add_engines(session_.gpu_, stats);
    if (transfers_) {
      stats.to_host_bytes = transfers_->written_bytes();
      stats.from_host_bytes = transfers_->read_bytes();
    }
    if (pinned_ != nullptr) stats.host_weights_bytes = pinned_->bytes();
    stats.pool_peak_bytes = session_.gpu_.reservation_sizes().taken_bytes(dry_run_.bytes());
    stats.outside_bytes = std::max<int64_t>(0, session_.outside_growth_bytes());
    stats.device = session_.gpu_.device();
    stats.libraries = session_.gpu_.libraries();
    stats.threads = 1;
  }

 private:
  GpuSession& session_;
  const Plan& plan_;
  const DryRun& dry_run_;
  const bool observed_;
  const std::shared_ptr<GpuMemory> memory_;
  GpuEvents events_;
  Observation observation_;
  std::optional<HostTransfers> transfers_;
  const PinnedWeights* pinned_ = nullptr;
  std::vector<WeightsAhead> ahead_;  ///< prefetches of pinned weights
  std::chrono::steady_clock::time_point start_;
};

GpuSession::GpuSession(const SessionRequest& request, gpu::Gpu& gpu)
    : Session(request.model, request.plans),
      gpu_(gpu),
      card_(request.card),
      from_card_(card_ != nullptr ? card_->source(copies_) : ParameterSource{}),
      source_(host_weights(request.model.graph, card_ != nullptr ? from_card_ : request.weights)),
      kept_packed_(request.packed),
      loading_(request.loading),
      measures_outside_(request.measures_outside),
      resident_before_(resident_bytes()),
      free_before_(measures_outside_ ? gpu.free_bytes() : 0),
      prepared_(request.prepared ? request.prepared
                                 : std::make_shared<const PreparedPlans>(
                                       prepare(request.model, request.plans, gpu.reservation_sizes()))),
      bytes_(prepared_->bytes),
      reservation_(gpu, bytes_),
      staging_(gpu),
      copies_(staging_),
      host_(gpu, prepared_->host_bytes) {}

/// Resident weights lie at the start of the reservation, for all plans that use them. Weights of single
/// passes wait in host memory.
void GpuSession::load_weights(const Plan& plan) {
  if (plan.weights == WeightResidency::per_pass) {
    weights_.reset();
    if (card_weights(plan.request.dtype) != nullptr || weights_of_passes(plan) != nullptr) return;
    if (!source_held_) source_ = held(model_.graph, source_, loading_);
    source_held_ = true;
    return;
  }
  if (weights_ && weights_dtype_ == plan.request.dtype) return;
  load_resident_weights(plan.request.dtype);
  weights_dtype_ = plan.request.dtype;
}

/// Packed weights that outlive the session are packed once, and each session copies them. For a single
/// session it is faster to pack while copying.
void GpuSession::load_resident_weights(Dtype dtype) {
  const std::shared_ptr<void> memory(reservation_.base(), [](void*) {});
  const std::vector<OpId> operations = all_operations(model_.graph);
  if (const CardWeights* card = card_weights(dtype)) {
    uint32_t* const not_finite = staging_.output().flag(0);
    *not_finite = 0;
    card->pack(operations, reservation_.base(), [&](gpu::Pack call) {
      call.not_finite = not_finite;
      gpu_.run(call);
    });
    packed_flag_ = not_finite;
    weights_.emplace(model_.graph, operations, dtype, memory);
    return;
  }
  const PinnedWeights* packed = kept_packed_ != nullptr ? pinned_weights(dtype) : nullptr;
  if (packed == nullptr) {
    weights_.emplace(model_.graph, operations, dtype, memory,
                     GpuWeights::Loading{source_, staging_, loading_});
    return;
  }
  for (const PinnedWeights::Copy& copy : packed->copies(operations, reservation_.base()))
    gpu_.copy(gpu::Stream::compute, copy.to, copy.from, copy.bytes);
  weights_.emplace(model_.graph, operations, dtype, memory);
}

void GpuSession::check_packed() {
  const volatile uint32_t* const not_finite = std::exchange(packed_flag_, nullptr);
  if (not_finite != nullptr && *not_finite != 0) card_weights_->require_finite(copies_);
}

const CardWeights* GpuSession::card_weights(Dtype dtype) {
  if (card_ == nullptr) return nullptr;
  if (!card_weights_ || card_weights_->dtype() != dtype) {
    const bool folds = !folded_operations(model_.graph).empty();
    card_weights_.emplace(gpu_, model_.graph, dtype, *card_, folds ? pinned_weights(dtype) : nullptr);
  }
  return &*card_weights_;
}

const PinnedWeights* GpuSession::weights_of_passes(const Plan& plan) {
  if (card_ != nullptr) return nullptr;
  return plan.host_weights_bytes == 0 ? nullptr : pinned_weights(plan.request.dtype);
}

const PinnedWeights* GpuSession::pinned_weights(Dtype dtype) {
  PinnedByDtype& packed = kept_packed_ != nullptr ? *kept_packed_ : own_packed_;
  if (const auto known = packed.find(dtype); known != packed.end()) return &known->second;
  const std::vector<OpId> operations =
      card_ != nullptr ? folded_operations(model_.graph) : all_operations(model_.graph);
  try {
    return &packed.try_emplace(dtype, gpu_, model_.graph, operations, dtype, source_, loading_).first->second;
  } catch (const LimitExceeded&) {
    if (card_ != nullptr) throw;
    return nullptr;
  }
}

std::unique_ptr<Session::Run> GpuSession::begin(size_t number, EventSink* events) {
  return std::make_unique<PlanRun>(*this, plans_[number], prepared_->dry_runs[number], events);
}

int64_t GpuSession::outside_growth_bytes() const {
  return measures_outside_ ? free_before_ - gpu_.free_bytes() - bytes_ : 0;
}

int64_t GpuSession::most_outside_bytes(int64_t) const {
  return std::max<int64_t>(0, outside_growth_bytes());
}

}  // namespace headroom
