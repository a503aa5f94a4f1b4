#include "decoder/session/cpu_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/os/process_memory.h"
#include "decoder/base/os/scratch_file.h"
#include "decoder/cpu/cpu_device.h"
#include "decoder/cpu/scratch_transfers.h"
#include "decoder/cpu/threads.h"
#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/storage.h"
#include "decoder/session/environment.h"

namespace headroom {
namespace {

/// Attention reads each block of keys with its block of values, so their blocks must have equal heights.
void check_blocks(const Graph& graph, const Plan& plan) {
  const auto rows_of = [&](TensorId id) -> int64_t {
    for (const KeptTensor& entry : plan.kept) {
      if (entry.tensor == id) return entry.block_rows;
    }
    return extent_of(graph.tensor(id), sizes_of(graph, plan).latent).y;  // the latent is one block
  };
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::attention || rows_of(op.inputs[1]) == rows_of(op.inputs[2])) continue;
    throw InputError(op.name + ": its keys are kept in blocks of " + std::to_string(rows_of(op.inputs[1])) +
                     " rows, its values in blocks of " + std::to_string(rows_of(op.inputs[2])) +
                     "; expected the same");
  }
}

/// Keys in another tier are fetched block by block together with their values.
void check_keys(const Graph& graph, const Plan& plan) {
  const auto tier_of = [&](TensorId id) {
    for (const KeptTensor& entry : plan.kept) {
      if (entry.tensor == id) return entry.tier;
    }
    return MemoryTier::device;
  };
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::attention) continue;
    const MemoryTier keys = tier_of(op.inputs[1]), values = tier_of(op.inputs[2]);
    if (keys == values && (keys == MemoryTier::device || takes_keys_by_block(graph, op))) continue;
    const bool named_keys = keys != MemoryTier::device;
    throw InputError(
        graph.tensor(op.inputs[named_keys ? 1 : 2]).name + " is kept in " +
        name_of(named_keys ? keys : values) + ": attention " + op.name +
        " needs its keys and values in the same tier, frames that are not interleaved, and nothing "
        "else that reads them");
  }
}

/// Throws InputError if the CPU cannot keep a tensor in the tier that the plan names.
void check_tiers(const Graph& graph, const Plan& plan) {
  for (const KeptTensor& entry : plan.kept) {
    if (entry.tier == MemoryTier::device) continue;
    const std::string named = graph.tensor(entry.tensor).name + " is kept in " + name_of(entry.tier) + ": ";
    if (entry.tier == MemoryTier::host)
      throw InputError(named + "on the CPU the device's memory is the host's; plan without a host limit");
    const bool shared = entry.in_place_of != TensorId{-1} ||
                        std::any_of(plan.kept.begin(), plan.kept.end(), [&](const KeptTensor& other) {
                          return other.in_place_of == entry.tensor;
                        });
    if (shared) throw InputError(named + "a sum in place needs both its operands on the device");
  }
}

/// The scratch file of a decode and its transfer thread. Empty if the plan keeps nothing in a file.
class Scratch {
 public:
  Scratch(const Graph& graph, const Plan& plan) {
    ScratchLayout layout = scratch_layout(graph, plan);
    if (layout.slots == 0) return;
    file_.emplace(plan.scratch_folder, layout.slots, layout.slot_bytes, plan.scratch_limit_bytes);
    transfers_.emplace(*file_, std::move(layout.slots_of));
  }
  ScratchTransfers* transfers() { return transfers_ ? &*transfers_ : nullptr; }

 private:
  std::optional<ScratchFile> file_;
  std::optional<ScratchTransfers> transfers_;
};

}  // namespace

/// One plan on the CPU, with the session's resident weights or those that each pass loads.
class CpuSession::PlanRun final : public Session::Run {
 public:
  PlanRun(CpuSession& session, const Plan& plan, EventSink* events)
      : session_(session),
        events_(events),
        scratch_(session.model_.graph, plan),
        start_((reset_peak_resident(), session.pool_.restart_peak(), std::chrono::steady_clock::now())),
        observation_(observation()),
        weights_(session.pool_, session.model_.graph, plan, session.source_, resident(plan)) {}

  std::unique_ptr<Device> device(const Plan& micro_batch) override {
    const Graph& graph = session_.model_.graph;
    return std::make_unique<CpuDevice>(graph, sizes_of(graph, micro_batch), weights_, session_.pool_);
  }
  BlockTransfers* transfers() override { return scratch_.transfers(); }
  EventSink* events() override { return events_; }
  std::chrono::steady_clock::time_point start() const override { return start_; }
  void finish(RunStats& stats) override {
    LimitedPool& pool = session_.pool_;
    stats.pool_peak_bytes = pool.peak_bytes();
    stats.rss_growth_bytes =
        std::max<int64_t>(0, headroom::peak_resident_bytes() - session_.resident_before_);
    stats.outside_bytes = std::max<int64_t>(0, stats.rss_growth_bytes - pool.peak_resident_bytes());
    if (const ScratchTransfers* transfers = scratch_.transfers()) {
      stats.scratch_written_bytes = transfers->written_bytes();
      stats.scratch_read_bytes = transfers->read_bytes();
      stats.transfer_wait_seconds = transfers->wait_seconds();
    }
    stats.device = device_name();
    stats.libraries = library_versions();
    stats.threads = thread_count();
    // Keep the pages that the pool holds. They suffice for any later decode that is no larger.
    pool.hold_resident(pool.peak_resident_bytes());
  }

 private:
  Observation observation() {
    if (events_ == nullptr) return {};
    events_->allocating(MemoryKind::weights, TensorId{-1});
    return session_.pool_.observe(events_->memory_observer());
  }
  const Weights* resident(const Plan& plan) {
    return plan.weights == WeightResidency::per_pass ? nullptr : &session_.load_weights();
  }

  CpuSession& session_;
  EventSink* events_;
  Scratch scratch_;
  const std::chrono::steady_clock::time_point start_;
  const Observation observation_;
  PlannedWeights weights_;
};

CpuSession::CpuSession(const SessionRequest& request)
    : Session(request.model, request.plans),
      source_(request.weights),
      loading_(request.loading),
      resident_before_(resident_bytes()),
      reservations_before_(LimitedPool::reservations()),
      pool_(request.limit_bytes, request.resident_goal_bytes) {}

const Weights& CpuSession::load_weights() {
  if (weights_) return *weights_;
  try {
    return weights_.emplace(pool_, model_.graph, all_operations(model_.graph), ConvolutionAlgorithm::direct,
                            source_, loading_);
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded(std::string("loading the weights: ") + refused.what());
  }
}

std::unique_ptr<Session::Run> CpuSession::begin(size_t number, EventSink* events) {
  const Plan& plan = plans_[number];
  check_tiers(model_.graph, plan);
  check_keys(model_.graph, plan);
  check_blocks(model_.graph, plan);
  // Weights of an earlier plan must not count in this plan's peak.
  if (plan.weights == WeightResidency::per_pass) weights_.reset();
  return std::make_unique<PlanRun>(*this, plan, events);
}

void CpuSession::limit_to(int64_t limit_bytes, int64_t resident_goal_bytes) {
  pool_.limit_to(limit_bytes);
  pool_.hold_resident(resident_goal_bytes);
}

int64_t CpuSession::outside_growth_bytes() const {
  return headroom::resident_bytes() - resident_before_ - pool_.resident_bytes();
}

int64_t CpuSession::most_outside_bytes(int64_t rss_growth_bytes) const {
  return std::max<int64_t>(0, rss_growth_bytes - held_bytes());
}

}  // namespace headroom
