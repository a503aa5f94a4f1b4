#include "decoder/gpu/dry_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "decoder/gpu/dry_gpu.h"
#include "decoder/gpu/gpu_device.h"
#include "decoder/gpu/live_range.h"
#include "decoder/graph/errors.h"
#include "decoder/interpreter/interpreter.h"
#include "decoder/lowering/blocks.h"
#include "decoder/lowering/like_columns.h"
#include "decoder/lowering/weights_bytes.h"

namespace headroom {
namespace {

/// By pass and column of a plan that lacks columns which are like others: how many it stands for.
using LeftOut = std::vector<std::vector<int64_t>>;

/// The plan with one of all columns of tiles that are like each other.
Plan with_like_columns_once(const Graph& graph, Plan plan, LeftOut& left_out) {
  const Extent latent = sizes_of(graph, plan).latent;
  for (Pass& pass : plan.passes) {
    const std::vector<size_t> like = like_columns(graph, pass, latent);
    std::vector<int64_t> lacking(like.size(), 0);
    for (size_t column = 0; column < like.size(); ++column) lacking[like[column]] += like[column] != column;
    std::vector<Interval> columns;
    std::vector<int64_t>& of_columns = left_out.emplace_back();
    for (size_t column = 0; column < like.size(); ++column) {
      if (like[column] != column) continue;
      columns.push_back(pass.tiles.x[column]);
      of_columns.push_back(lacking[column]);
    }
    pass.tiles.x = std::move(columns);
  }
  return plan;
}

/// Nothing moves.
class NoTransfers final : public BlockTransfers {
 public:
  Ticket queue_write(const std::vector<Block>&) override { return 0; }
  Ticket queue_read(const std::vector<Block>&) override { return 0; }
  void wait(Ticket) override {}
  void abandon() noexcept override {}
};

/// Begins a scope with each tile: most tiles make the requests of the one before. Marks columns of tiles that
/// are like an earlier one of their band, or counts those that a plan of like columns lacks. Notes where
/// passes begin.
class Scopes final : public ForwardingEvents {
 public:
  /// `left_out`: by pass how many columns each one stands for; empty where all columns are run.
  Scopes(GpuMemory& memory, const Graph& graph, const Extent& latent, const LeftOut& left_out,
         EventSink* listener)
      : ForwardingEvents(listener), memory_(memory), graph_(graph), latent_(latent), left_out_(left_out) {}

  void pass_started(const Plan& plan, int32_t pass) override {
    end_column();
    passes_.push_back(memory_.requests().events().size());
    if (left_out_.empty()) like_ = like_columns(graph_, plan.passes[static_cast<size_t>(pass)], latent_);
    ForwardingEvents::pass_started(plan, pass);
  }
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override {
    const auto number = static_cast<size_t>(pass);
    const auto& grid = plan.passes[number].tiles;
    const auto chunks = static_cast<int64_t>(grid.t.size());
    if (tile % chunks == 0) {
      end_column();
      begin_column(number, static_cast<size_t>(tile / chunks) % grid.x.size());
    }
    memory_.begin_scope();
    ForwardingEvents::tile_started(plan, pass, tile, tiles);
  }
  /// Ends the last column. Returns how many requests columns that were left out would have made.
  int64_t finish() {
    end_column();
    return lacking_;
  }
  const std::vector<size_t>& passes() const { return passes_; }

 private:
  void begin_column(size_t pass, size_t column) {
    column_began_ = memory_.requests().count();
    if (!left_out_.empty()) {
      stands_for_ = left_out_[pass][column];
      return;
    }
    first_of_.resize(like_.size());
    first_of_[column] = column_began_;
    repeats_ = like_[column] != column;
    if (repeats_) memory_.begin_repeat(first_of_[like_[column]]);
  }
  void end_column() {
    if (repeats_) memory_.end_repeat();
    repeats_ = false;
    lacking_ += stands_for_ * (memory_.requests().count() - column_began_);
    stands_for_ = 0;
  }

  GpuMemory& memory_;
  const Graph& graph_;
  const Extent latent_;
  const LeftOut& left_out_;
  std::vector<size_t> passes_;
  std::vector<size_t> like_;
  std::vector<int64_t> first_of_;  ///< request of each column of the band
  bool repeats_ = false;
  int64_t column_began_ = 0, stands_for_ = 0, lacking_ = 0;
};

/// A decode without a latent and without pictures, which pass through the host.
class DryDevice final : public GpuDevice {
 public:
  using GpuDevice::GpuDevice;
  void load_latent(const Array&, int64_t, const MapView&, int64_t) override {}
  void emit(const MapView&, const Region&, int64_t, int64_t, const std::string&, PictureSink&) override {}
};

void check_tiers(const Graph& graph, const Plan& plan) {
  const Sizes sizes = sizes_of(graph, plan);
  for (const Materialised& entry : plan.materialised) {
    const std::string& name = graph.tensor(entry.tensor).name;
    if (entry.tier == MemoryTier::scratch)
      throw InputError(name + " is kept in a scratch file: not on CUDA; plan with a host limit instead");
    if (block_count(graph, entry, sizes) > gpu::kMostBlocks) {
      throw InputError(name + " is kept in " + std::to_string(block_count(graph, entry, sizes)) +
                       " blocks; expected at most " + std::to_string(gpu::kMostBlocks) + " on CUDA");
    }
  }
}

/// `plan` may lack columns of tiles that are like others.
DryRun record(gpu::Gpu& gpu, const Model& model, const Plan& plan, const LeftOut& left_out,
              EventSink* listener) {
  check_tiers(model.graph, plan);
  const auto memory = std::make_shared<GpuMemory>();
  if (listener != nullptr) memory->observe(listener->memory_observer());
  const HostWeights none = no_host_weights();
  PinnedStaging staging(gpu);
  DryRun dry_run;
  int64_t lacking = 0;
  std::optional<GpuWeights> weights;
  if (plan.weights == WeightResidency::resident) {
    weights.emplace(model.graph, std::vector<OpId>{}, plan.request.dtype, nullptr,
                    GpuWeights::Loading{none, staging});
    dry_run.weights_bytes = aligned_bytes(resident_weights_bytes(model.graph, storage_of(plan.request)));
  }
  const auto run = [&](int64_t first_item) {
    const size_t first_event = memory->requests().events().size();
    const Plan micro_batch = plan_of_micro_batch(plan, first_item);
    DryDevice device(model.graph, micro_batch, *memory, none, weights ? &*weights : nullptr, staging);
    NoTransfers transfers;
    DiscardingSink sink({1, 1, 1, 1, 1});
    Scopes scopes(*memory, model.graph, sizes_of(model.graph, plan).latent, left_out, listener);
    Interpreter(model, micro_batch, device, &transfers, &scopes).run({}, first_item, sink);
    lacking += scopes.finish();
    if (first_item == 0) dry_run.passes = scopes.passes();
    return first_event;
  };
  dry_run.first_micro_batch = dry_run.last_micro_batch = run(0);
  const int64_t last = (plan.request.batch - 1) / plan.micro_batch * plan.micro_batch;
  if (plan.request.batch - last < plan.micro_batch) dry_run.last_micro_batch = run(last);
  dry_run.requests = memory->requests();
  MemoryRequests::check_count(dry_run.requests.count() + lacking);
  return dry_run;
}

void place(DryRun& dry_run, int64_t enough_bytes) {
  dry_run.placement = find_placement(dry_run.requests, enough_bytes - dry_run.weights_bytes);
}

}  // namespace

DryRun run_dry_on(gpu::Gpu& gpu, const Model& model, const Plan& plan, EventSink* listener) {
  return record(gpu, model, plan, {}, listener);
}

DryRun run_dry(const Model& model, const Plan& plan, EventSink* listener) {
  DryGpu gpu;
  DryRun dry_run = run_dry_on(gpu, model, plan, listener);
  place(dry_run, plan.predicted_peak_bytes);
  dry_run.host = host_layout(model.graph, plan);
  return dry_run;
}

DryRun run_dry_briefly(const Model& model, const Plan& plan, int64_t enough_bytes) {
  DryGpu gpu;
  LeftOut left_out;
  const Plan brief = with_like_columns_once(model.graph, plan, left_out);
  DryRun dry_run = record(gpu, model, brief, left_out, nullptr);
  place(dry_run, enough_bytes);
  dry_run.host = host_layout(model.graph, plan);
  return dry_run;
}

std::vector<int64_t> DryRun::bytes_by_pass() const {
  const std::vector<LiveRange> ranges = live_ranges_of(requests);
  std::vector<int64_t> bytes(passes.size(), 0);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const int64_t end = weights_bytes + placement.offsets[i] + ranges[i].bytes;
    // What is there before the first pass is there in that.
    auto pass = std::upper_bound(passes.begin(), passes.end(), static_cast<size_t>(ranges[i].begin));
    if (pass != passes.begin()) --pass;
    for (; pass != passes.end() && static_cast<int64_t>(*pass) <= ranges[i].end; ++pass) {
      int64_t& most = bytes[static_cast<size_t>(pass - passes.begin())];
      most = std::max(most, end);
    }
  }
  return bytes;
}

}  // namespace headroom
