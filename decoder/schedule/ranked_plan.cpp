#include "decoder/schedule/ranked_plan.h"

#include <algorithm>
#include <tuple>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/rank_rows.h"
#include "decoder/schedule/row_readers.h"

namespace headroom {
namespace {

/// Number of values in all statistics and sums of a decode.
int64_t gathered_values(const Graph& graph, const Plan& plan) {
  int64_t values = 0;
  for (const Pass& pass : plan.passes) {
    for (const Step& step : pass.steps)
      values += takes_statistics(step.kind) ? statistics_values(graph, step, sizes_of(graph, plan)) : 0;
  }
  return values / plan.micro_batch * plan.request.batch;
}

}  // namespace

RankedPlan build_ranked_plan(const Model& model, const Request& request,
                             const PlanConfiguration& configuration,
                             const std::vector<PassDecision>& decisions, const MemoryModel& memory,
                             int32_t ranks) {
  RankedPlan plan;
  plan.request = request;
  Plan whole;
  whole.request = request;
  const std::vector<Interval> shares = share_rows(sizes_of(model.graph, whole).latent.y, ranks);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    PlanConfiguration own = configuration;
    own.share = {rank, ranks, shares[static_cast<size_t>(rank)]};
    plan.plans.push_back(build_plan(model, request, own, decisions, memory));
  }
  plan.transfers = row_transfers(model.graph, plan.plans);
  plan.traffic = traffic_of(model.graph, plan);
  return plan;
}

std::vector<RowTransfer> row_transfers(const Graph& graph, const std::vector<Plan>& plans) {
  std::vector<RowTransfer> transfers;
  for (const Plan& reader : plans) {
    for (const KeptTensor& entry : reader.kept) {
      const Interval needed = rows_needed(graph, reader, entry.tensor);
      for (const Plan& owner : plans) {
        if (owner.share.rank == reader.share.rank) continue;
        const Interval rows =
            intersect(needed, own_rows(sizes_of(graph, owner), graph.tensor(entry.tensor).scale.y));
        if (rows.length() > 0)
          transfers.push_back({entry.first_pass, entry.tensor, owner.share.rank, reader.share.rank, rows});
      }
    }
  }
  std::stable_sort(transfers.begin(), transfers.end(), [](const RowTransfer& a, const RowTransfer& b) {
    const auto key = [](const RowTransfer& t) {
      return std::tuple(t.pass, t.from > t.to, index(t.tensor), t.from, t.to);
    };
    return key(a) < key(b);
  });
  return transfers;
}

std::vector<RankTraffic> traffic_of(const Graph& graph, const RankedPlan& plan) {
  std::vector<RankTraffic> traffic(plan.plans.size());
  for (const RowTransfer& transfer : plan.transfers) {
    const Plan& sender = plan.plans[static_cast<size_t>(transfer.from)];
    traffic[static_cast<size_t>(transfer.from)].rows_bytes +=
        transfer.rows.length() * row_bytes(graph, transfer.tensor, sizes_of(graph, sender)) *
        plan.request.batch;
  }
  const Tensor& output = graph.tensor(graph.output());
  for (size_t rank = 0; rank < traffic.size(); ++rank) {
    const Sizes sizes = sizes_of(graph, plan.plans[rank]);
    traffic[rank].statistics_bytes = gathered_values(graph, plan.plans[rank]) *
                                     static_cast<int64_t>((traffic.size() - 1) * sizeof(double));
    const Extent picture = extent_of(output, sizes.latent);
    if (rank == 0) continue;
    traffic[rank].output_bytes = picture.t * own_rows(sizes, output.scale.y).length() * picture.x *
                                 output.channels * plan.request.batch * static_cast<int64_t>(sizeof(float));
  }
  return traffic;
}

int64_t statistics_values(const Graph& graph, const Step& step, const Sizes& sizes) {
  constexpr int64_t kMoments = 3;
  const Op& op = graph.op(step.op);
  if (step.kind == OpKind::key_value_sums) return sizes.items * graph.tensor(op.output).channels;
  return sizes.items * gpu::statistics_sets(graph, op, sizes) * op.groups * kMoments;
}

size_t first_band_of(const Graph& graph, const Plan& plan, size_t pass,
                     std::span<const RowTransfer* const> rows) {
  const Pass& of = plan.passes[pass];
  size_t first = of.tiles.y.size();
  for (const RowTransfer* transfer : rows) {
    if (is_taken_over(plan, transfer->tensor, pass)) return 0;
    const RowReaders readers(graph, of, transfer->tensor, sizes_of(graph, plan));
    first = std::min(first, readers.first_band(of, transfer->rows));
  }
  return first;
}

}  // namespace headroom
