#include "decoder/schedule/row_readers.h"

#include <algorithm>
#include <limits>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/tiles.h"

namespace headroom {
namespace {

/// The rows for which a step reads input in a band. Rows carried from the band before are not computed again.
struct RowsMade {
  int32_t before = 0;  ///< distance of the first row before the band's own rows
  int64_t last_begin = std::numeric_limits<int64_t>::max();
};

RowsMade rows_made(const Graph& graph, const Pass& pass, const Step& step, const Sizes& sizes) {
  if (!pass.carries(Axis::y) || takes_statistics(step.kind)) return {step.halo.before.y};
  const auto read_again = static_cast<int32_t>(step.halo.before.y - carried_positions(pass, step));
  const int64_t end = extent_of(graph.tensor(step.tensor), sizes.latent).y + step.pad.y;
  return {read_again - step.halo.after.y, end - read_again};
}

}  // namespace

RowReaders::RowReaders(const Graph& graph, const Pass& pass, TensorId tensor, const Sizes& sizes)
    : grid_scale_(pass.scale.y), rows_(extent_of(graph.tensor(tensor), sizes.latent).y) {
  for (const Step& step : pass.steps) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i].tensor != tensor || step.inputs[i].step != -1) continue;
      const RowsMade made = rows_made(graph, pass, step, sizes);
      if (makes_tile(step.kind) && step.op != OpId{-1} && !is_residual(step, i)) {
        const Op& op = graph.op(step.op);
        readers_.push_back({graph.tensor(step.tensor).scale.y, made.before, step.halo.after.y,
                            made.last_begin, op.factor.y, op.stride.y, reach(op).before.y, reach(op).after.y,
                            is_barrier(op, i)});
      } else {
        // Gathers, statistics, accumulations and residuals read the positions of their own tile.
        readers_.push_back({graph.tensor(tensor).scale.y, made.before, step.halo.after.y, made.last_begin, 1,
                            1, 0, 0, false});
      }
    }
  }
}

int64_t RowReaders::first_row(int64_t grid_row) const {
  int64_t first = rows_;
  if (grid_row == 0 && !readers_.empty()) return 0;
  for (const Reader& reader : readers_) {
    const int64_t begin = grid_row * reader.scale / grid_scale_ - reader.before;
    const int64_t made = std::max<int64_t>(0, std::min(begin, reader.last_begin));
    first = std::min(
        first,
        reader.all ? 0 : std::max<int64_t>(0, made / reader.factor * reader.stride - reader.reach_before));
  }
  return first;
}

int64_t RowReaders::last_row(int64_t grid_row) const {
  int64_t last = 0;
  for (const Reader& reader : readers_) {
    const int64_t made = ceil_divide(grid_row * reader.scale, grid_scale_) + reader.after;
    last = std::max(
        last, reader.all ? rows_ : ceil_divide(made, reader.factor) * reader.stride + reader.reach_after);
  }
  return std::min(last, rows_);
}

bool RowReaders::reads_whole() const {
  return std::any_of(readers_.begin(), readers_.end(), [](const Reader& reader) { return reader.all; });
}

size_t RowReaders::first_band(const Pass& pass, const Interval& rows) const {
  size_t band = 0;
  for (; band < pass.tiles.y.size(); ++band) {
    const Interval& tile = pass.tiles.y[band];
    if (intersect({first_row(tile.begin), last_row(tile.end)}, rows).length() > 0) break;
  }
  return band;
}

}  // namespace headroom
