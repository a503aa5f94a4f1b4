#include "decoder/validator/ranked_view.h"

namespace headroom::validation {
namespace {

constexpr int64_t kGatheredBytes = 8, kOutputBytes = 4;

/// Bytes of statistics that a rank sends. It sends each of its values to every other rank.
int64_t statistics_bytes(const View& own, int64_t others) {
  int64_t values = 0;
  for (const Pass& pass : own.plan.passes) {
    for (const Step& step : pass.steps) {
      if (counts_positions(step.kind)) values = add(values, gathered_values(own, own.graph.op(step.op)));
    }
  }
  return multiply(multiply(multiply(values, own.plan.request.batch), kGatheredBytes), others);
}

/// Bytes of the picture's rows that a rank sends to rank 0, in fp32.
int64_t output_bytes(const View& own) {
  if (own.plan.share.rank == 0) return 0;
  const TensorId output = own.graph.output();
  const Tensor& tensor = own.graph.tensor(output);
  const int64_t positions =
      multiply(multiply(own.picture(output, kTime).end, own.own_rows(tensor.scale.y).length()),
               own.picture(output, kColumns).end);
  return multiply(multiply(multiply(positions, tensor.channels), own.plan.request.batch), kOutputBytes);
}

}  // namespace

void check_traffic(RankedView& view) {
  const RankedPlan& plan = view.plan;
  if (plan.traffic.size() != view.ranks.size()) {
    return view.findings.add(Violation::malformed, "ranks",
                             "bytes sent are given for " + std::to_string(plan.traffic.size()) + " ranks");
  }
  std::vector<RankTraffic> expected(view.ranks.size());
  for (const RowTransfer& transfer : plan.transfers) {
    const auto from = static_cast<size_t>(transfer.from);
    const int64_t bytes = multiply(
        multiply(transfer.rows.length(), view.ranks[from].row_bytes(transfer.tensor)), plan.request.batch);
    expected[from].rows_bytes = add(expected[from].rows_bytes, bytes);
  }
  for (size_t rank = 0; rank < view.ranks.size(); ++rank) {
    const auto check = [&](const char* key, int64_t found, int64_t bytes) {
      if (found == bytes) return;
      view.findings.add(Violation::traffic_misstated, RankedView::place(rank) + ".sent." + key,
                        "expected " + std::to_string(bytes) + ", found " + std::to_string(found));
    };
    const RankTraffic& found = plan.traffic[rank];
    check("rows_bytes", found.rows_bytes, expected[rank].rows_bytes);
    check("statistics_bytes", found.statistics_bytes,
          statistics_bytes(view.ranks[rank], static_cast<int64_t>(view.ranks.size()) - 1));
    check("output_bytes", found.output_bytes, output_bytes(view.ranks[rank]));
  }
}

}  // namespace headroom::validation
