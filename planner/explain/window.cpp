#include "planner/explain/window.h"

#include <algorithm>

#include "decoder/lowering/memory.h"

namespace headroom {

int64_t stored_bytes(const Graph& graph, const Plan& plan, const Kept& kept) {
  return static_cast<int64_t>(kept.blocks.size()) * kept.block_rows *
         row_bytes(graph, kept.tensor, sizes_of(graph, plan));
}

int64_t window_bytes(const Graph& graph, const Plan& plan, const Kept& kept, size_t number) {
  if (kept.place == Place::device) return stored_bytes(graph, plan, kept);
  const Sizes sizes = sizes_of(graph, plan);
  const Pass& pass = plan.passes[number];
  const RowReaders readers(graph, pass, kept.tensor, sizes);
  const bool written = kept.first_pass == static_cast<int32_t>(number);
  int64_t most = 0;
  for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
    Interval there;
    if (written) {
      const int64_t leaving = band == 0 ? 0 : blocks_completed(graph, pass, kept, band - 1).begin;
      there = {leaving, blocks_acquired(graph, pass, kept, band).end};
    } else {
      const Interval own = blocks_read(readers, pass, kept, band);
      const Interval next = blocks_read(readers, pass, kept, std::min(band + 1, pass.tiles.y.size() - 1));
      there = {own.begin, std::max(own.end, next.end)};
    }
    most = std::max(most, there.end - there.begin);
  }
  return most * sizes.items * kept_block_bytes(graph, kept, sizes);
}

int64_t window_bytes(const Graph& graph, const Plan& plan, const Kept& kept) {
  int64_t most = 0;
  for (int32_t pass = kept.first_pass; pass <= kept.last_pass; ++pass) {
    most = std::max(most, window_bytes(graph, plan, kept, static_cast<size_t>(pass)));
  }
  return most;
}

}  // namespace headroom
