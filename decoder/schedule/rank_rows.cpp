#include "decoder/schedule/rank_rows.h"

#include <algorithm>

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

}  // namespace headroom
