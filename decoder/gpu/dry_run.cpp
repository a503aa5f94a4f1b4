#include "decoder/gpu/dry_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/gpu/gpu_device.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/interpreter/interpreter.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"

namespace headroom {
namespace {

/// Transfers nothing.
class NoTransfers final : public BlockTransfers {
 public:
  Ticket queue_write(const std::vector<Block>&) override { return 0; }
  Ticket queue_read(const std::vector<Block>&) override { return 0; }
  void wait(Ticket) override {}
  void abandon() noexcept override {}
};

void check_tiers(const Graph& graph, const Plan& plan) {
  const Sizes sizes = sizes_of(graph, plan);
  for (const KeptTensor& entry : plan.kept) {
    const std::string& name = graph.tensor(entry.tensor).name;
    if (entry.tier == MemoryTier::scratch)
      throw InputError(
          name +
          " is kept in a scratch file, which CUDA plans do not support; plan with a host limit instead");
    if (block_count(graph, entry, sizes) > gpu::kMostBlocks) {
      throw InputError(name + " is kept in " + std::to_string(block_count(graph, entry, sizes)) +
                       " blocks; expected at most " + std::to_string(gpu::kMostBlocks) + " on CUDA");
    }
  }
}

void place(DryRun& dry_run, int64_t enough_bytes) {
  dry_run.placement = find_placement(dry_run.requests, enough_bytes - dry_run.weights_bytes);
}

}  // namespace

DryRun run_dry_on(gpu::Gpu& gpu, const Model& model, const Plan& plan, EventSink* listener) {
  check_tiers(model.graph, plan);
  const auto memory = std::make_shared<GpuMemory>();
  const Observation observation =
      memory->observe(listener != nullptr ? listener->memory_observer() : nullptr);
  const HostWeights none = no_host_weights();
  PinnedStaging staging(gpu);
  DryRun dry_run;
  std::optional<GpuWeights> weights;
  if (plan.weights == WeightResidency::resident) {
    weights.emplace(model.graph, std::vector<OpId>{}, plan.request.dtype, nullptr,
                    GpuWeights::Loading{none, staging});
    dry_run.weights_bytes = aligned_bytes(resident_weights_bytes(model.graph, storage_of(plan.request)));
  }
  const auto run = [&](int64_t first_item) {
    const size_t first_event = memory->requests().events().size();
    // Blocks may move as a pass begins. With several ranks another rank's rows may be in flight to a block
    // then, so no block moves.
    if (plan.share.alone()) memory->begin_pass();
    const Plan micro_batch = plan_of_micro_batch(plan, first_item);
    DryDevice device(model.graph, micro_batch, *memory, WeightSource{none, weights ? &*weights : nullptr},
                     staging);
    NoTransfers transfers;
    DiscardingSink sink({1, 1, 1, 1, 1});
    RequestScopes scopes(*memory, model.graph, sizes_of(model.graph, plan).latent, listener);
    Interpreter(model, micro_batch, device, &transfers, &scopes).run(Array{}, first_item, sink);
    scopes.finish();
    if (first_item == 0) dry_run.passes = scopes.passes();
    return first_event;
  };
  dry_run.first_micro_batch = dry_run.last_micro_batch = run(0);
  const int64_t last = (plan.request.batch - 1) / plan.micro_batch * plan.micro_batch;
  if (plan.request.batch - last < plan.micro_batch) dry_run.last_micro_batch = run(last);
  dry_run.requests = memory->requests();
  return dry_run;
}

DryRun run_dry_within(const Model& model, const Plan& plan, int64_t enough_bytes, EventSink* listener) {
  DryGpu gpu;
  DryRun dry_run = run_dry_on(gpu, model, plan, listener);
  place(dry_run, enough_bytes);
  dry_run.host = host_layout(model.graph, plan);
  return dry_run;
}

DryRun run_dry(const Model& model, const Plan& plan, EventSink* listener) {
  // Repeats the placement from planning, which used the same limit or a smaller one.
  const int64_t beside = bytes_beside_reservation(model.graph, plan.request);
  DryRun dry_run = run_dry_within(model, plan, plan.limit_bytes - beside, listener);
  if (dry_run.bytes() > plan.predicted_peak_bytes - beside)
    place(dry_run, plan.predicted_peak_bytes - beside);
  return dry_run;
}

std::vector<int64_t> DryRun::bytes_by_pass() const {
  const std::vector<Buffer> ranges = live_ranges_of(requests);
  std::vector<int64_t> bytes(passes.size(), 0);
  for (const Stay& stay : stays_of(ranges, placement)) {
    const int64_t end = weights_bytes + stay.offset + ranges[static_cast<size_t>(stay.number)].bytes;
    // Requests made before the first pass count from the first pass on.
    auto pass = std::upper_bound(passes.begin(), passes.end(), static_cast<size_t>(stay.begin));
    if (pass != passes.begin()) --pass;
    for (; pass != passes.end() && static_cast<int64_t>(*pass) <= stay.end; ++pass) {
      int64_t& most = bytes[static_cast<size_t>(pass - passes.begin())];
      most = std::max(most, end);
    }
  }
  return bytes;
}

std::vector<std::vector<Copy>> DryRun::copies_by_pass() const {
  std::vector<std::vector<Copy>> copies;
  for (const size_t event : passes) {
    const auto first = std::partition_point(placement.moves.begin(), placement.moves.end(),
                                            [&](const Move& move) { return move.event < event; });
    const auto end = std::partition_point(first, placement.moves.end(),
                                          [&](const Move& move) { return move.event == event; });
    copies.push_back(copies_of({first, end}));
  }
  return copies;
}

DryRun run_dry_within_limit(const Model& model, const Plan& plan, const ReservationSizes& sizes) {
  DryRun dry_run = run_dry(model, plan);
  const int64_t taken_bytes = sizes.taken_bytes(dry_run.bytes());
  const int64_t limit_bytes = plan.limit_bytes - bytes_beside_reservation(model.graph, plan.request);
  if (taken_bytes > limit_bytes) {
    throw LimitExceeded("the plan takes " + std::to_string(taken_bytes) +
                        " bytes of the GPU's memory, limit " + std::to_string(limit_bytes));
  }
  const bool limited = dry_run.host.bytes > 0 || plan.host_limit_bytes > 0;
  if (limited && dry_run.host.bytes + plan.host_weights_bytes > plan.host_limit_bytes) {
    throw LimitExceeded("the plan takes " + std::to_string(dry_run.host.bytes) +
                        " bytes of the host's memory for kept tensors and " +
                        std::to_string(plan.host_weights_bytes) + " for weights, limit " +
                        std::to_string(plan.host_limit_bytes));
  }
  return dry_run;
}

namespace {

struct Place {
  int64_t offset = 0, bytes = 0;

  bool meets(int64_t other_offset, int64_t other_bytes) const {
    return offset < other_offset + other_bytes && other_offset < offset + bytes;
  }
};

}  // namespace

std::vector<WeightsAhead> weights_ahead(const DryRun& dry_run) {
  const std::vector<int64_t> begins(dry_run.passes.begin(), dry_run.passes.end());
  std::vector<int64_t> free_from;
  std::vector<Place> places;
  for (const size_t begin : dry_run.passes) {
    // The weights are the first request of a pass. A pass without weights copies nothing to this place.
    const MemoryRequests::Event& weights = dry_run.requests.events()[begin];
    places.push_back({dry_run.placement.offsets[static_cast<size_t>(weights.number)], weights.bytes});
    free_from.push_back(free_from.empty() ? begins[0] : begins[free_from.size() - 1] + 1);
  }
  const std::vector<Buffer> ranges = live_ranges_of(dry_run.requests);
  for (const Stay& stay : stays_of(ranges, dry_run.placement)) {
    const int64_t bytes = ranges[static_cast<size_t>(stay.number)].bytes;
    // Passes that begin after this stay begins, as long as the stay overlaps the pass before.
    const auto first = std::upper_bound(begins.begin(), begins.end(), stay.begin) - begins.begin();
    for (auto pass = static_cast<size_t>(first); pass < begins.size(); ++pass) {
      if (pass > 0 && stay.end < begins[pass - 1]) break;
      if (places[pass].meets(stay.offset, bytes))
        free_from[pass] = std::max(free_from[pass], std::min(stay.end, begins[pass] - 1) + 1);
    }
  }
  // A move at the start of a pass may temporarily place a block where the pass's weights will lie.
  for (const Move& move : dry_run.placement.moves) {
    const auto pass = static_cast<size_t>(
        std::lower_bound(dry_run.passes.begin(), dry_run.passes.end(), move.event) - dry_run.passes.begin());
    if (pass < begins.size() && dry_run.passes[pass] == move.event && places[pass].meets(move.to, move.bytes))
      free_from[pass] = begins[pass];
  }
  std::vector<WeightsAhead> ahead;
  for (size_t pass = 0; pass < places.size(); ++pass)
    ahead.push_back({static_cast<size_t>(free_from[pass]), places[pass].offset});
  return ahead;
}

}  // namespace headroom
