#include "planner/explain/window.h"

#include <algorithm>

#include "decoder/lowering/memory.h"

namespace headroom::planner {

int64_t stored_bytes(const Graph& graph, const Plan& plan, const Materialised& materialised) {
  return static_cast<int64_t>(materialised.blocks.size()) * materialised.block_rows *
         row_bytes(graph, materialised.tensor, sizes_of(graph, plan));
}

int64_t window_bytes(const Graph& graph, const Plan& plan, const Materialised& materialised, size_t number) {
  if (materialised.tier == MemoryTier::device) return stored_bytes(graph, plan, materialised);
  const Sizes sizes = sizes_of(graph, plan);
  const Pass& pass = plan.passes[number];
  const RowReaders readers(graph, pass, materialised.tensor, sizes);
  const bool written = materialised.first_pass == static_cast<int32_t>(number);
  int64_t most = 0;
  for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
    Interval there;
    if (written) {
      const int64_t leaving = band == 0 ? 0 : blocks_completed(graph, pass, materialised, band - 1).begin;
      there = {leaving, blocks_acquired(graph, pass, materialised, band).end};
    } else {
      const Interval own = blocks_read(readers, pass, materialised, band);
      const Interval next =
          blocks_read(readers, pass, materialised, std::min(band + 1, pass.tiles.y.size() - 1));
      there = {own.begin, std::max(own.end, next.end)};
    }
    most = std::max(most, there.end - there.begin);
  }
  return most * sizes.items * materialised_block_bytes(graph, materialised, sizes);
}

int64_t window_bytes(const Graph& graph, const Plan& plan, const Materialised& materialised) {
  int64_t most = 0;
  for (int32_t pass = materialised.first_pass; pass <= materialised.last_pass; ++pass) {
    most = std::max(most, window_bytes(graph, plan, materialised, static_cast<size_t>(pass)));
  }
  return most;
}

}  // namespace headroom::planner
