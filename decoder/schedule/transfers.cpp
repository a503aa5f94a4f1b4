#include "decoder/schedule/transfers.h"

#include <algorithm>
#include <tuple>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/lowering.h"
#include "decoder/schedule/row_readers.h"

namespace headroom {

std::vector<Interval> share_rows(int64_t latent_rows, int32_t ranks) {
  std::vector<Interval> shares;
  for (int32_t rank = 0; rank < ranks; ++rank) {
    const int64_t begin = shares.empty() ? 0 : shares.back().end;
    const int64_t rows = latent_rows / ranks + (rank < latent_rows % ranks ? 1 : 0);
    shares.push_back({begin, begin + rows});
  }
  return shares;
}

Interval rows_needed(const Graph& graph, const Plan& plan, TensorId tensor) {
  const Sizes sizes = sizes_of(graph, plan);
  Interval rows = own_rows(sizes, graph.tensor(tensor).scale.y);
  if (rows.length() == 0) return rows;
  for (const Pass& pass : plan.passes) {
    const RowReaders readers(graph, pass, tensor, sizes);
    const Interval grid = own_rows(sizes, pass.scale.y);
    rows.begin = std::min(rows.begin, readers.first_row(grid.begin));
    rows.end = std::max(rows.end, readers.last_row(grid.end));
  }
  return rows;
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

std::vector<SentBytes> sent_bytes_of(const Graph& graph, const Plans& group) {
  std::vector<SentBytes> sent(group.plans.size());
  for (const RowTransfer& transfer : group.transfers) {
    const auto from = static_cast<size_t>(transfer.from);
    sent[from].rows_bytes += transfer.rows.length() *
                             row_bytes(graph, transfer.tensor, sizes_of(graph, group.plans[from])) *
                             group.request.batch;
  }
  const Tensor& output = graph.tensor(graph.output());
  for (size_t rank = 0; rank < sent.size(); ++rank) {
    const Plan& plan = group.plans[rank];
    const Sizes sizes = sizes_of(graph, plan);
    int64_t values = 0;  // in all statistics and sums of a micro-batch
    for (const Pass& pass : plan.passes) values += statistics_values(graph, pass, sizes);
    sent[rank].statistics_bytes = values / plan.micro_batch * plan.request.batch *
                                  static_cast<int64_t>((sent.size() - 1) * sizeof(double));
    const Extent picture = extent_of(output, sizes.latent);
    if (rank == 0) continue;
    sent[rank].output_bytes = picture.t * own_rows(sizes, output.scale.y).length() * picture.x *
                              output.channels * group.request.batch * static_cast<int64_t>(sizeof(float));
  }
  return sent;
}

int64_t statistics_values(const Graph& graph, const Step& step, const Sizes& sizes) {
  constexpr int64_t kMoments = 3;
  const Op& op = graph.op(step.op);
  if (step.kind == OpKind::key_value_sums) return sizes.items * graph.tensor(op.output).channels;
  return sizes.items * gpu::statistics_sets(graph, op, sizes) * op.groups * kMoments;
}

int64_t statistics_values(const Graph& graph, const Pass& pass, const Sizes& sizes) {
  int64_t values = 0;
  for (const Step& step : pass.steps) {
    if (takes_statistics(step.kind)) values += statistics_values(graph, step, sizes);
  }
  return values;
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
