#include "decoder/lowering/block_windows.h"

#include <algorithm>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/blocks.h"
#include "decoder/lowering/tiles.h"

namespace headroom {
namespace {

int64_t first_stored_row(const Materialised& materialised) {
  return materialised.rows ? materialised.rows->begin : 0;
}

/// The rows that a band writes, counted from the first that is stored. The first band's begin there and the
/// last band's end with the last: what a rank stores beside its own rows is there as long as its neighbours
/// are.
Interval written_rows(const Graph& graph, const Pass& pass, const Materialised& materialised, size_t band) {
  Interval rows = image(pass.tiles.y[band], graph.tensor(materialised.tensor).scale.y, pass.scale.y);
  if (!materialised.rows) return rows;
  const Interval& stored = *materialised.rows;
  if (band == 0) rows.begin = stored.begin;
  if (band + 1 == pass.tiles.y.size()) rows.end = stored.end;
  return {rows.begin - stored.begin, rows.end - stored.begin};
}

/// The block that has a row, or would have it; no later one than the last one's end.
int64_t block_at(const Materialised& materialised, int64_t row, int64_t block_count) {
  const int64_t rows = std::max<int64_t>(0, row - first_stored_row(materialised));
  return std::min(block_count, rows / materialised.block_rows);
}

}  // namespace

RowReaders::RowReaders(const Graph& graph, const Pass& pass, TensorId tensor, const Sizes& sizes)
    : grid_scale_(pass.scale.y), rows_(extent_of(graph.tensor(tensor), sizes.latent).y) {
  for (const Step& step : pass.steps) {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      if (step.inputs[i].tensor != tensor || step.inputs[i].step != -1) continue;
      if (makes_tile(step.kind) && step.op != OpId{-1} && !is_residual(step, i)) {
        const Op& op = graph.op(step.op);
        readers_.push_back({graph.tensor(step.tensor).scale.y, step.halo.before.y, step.halo.after.y,
                            op.factor.y, reach(op, i).before.y, is_barrier(op, i)});
      } else {
        // Gathers, statistics, accumulations and residuals read the positions of their own tile.
        readers_.push_back(
            {graph.tensor(tensor).scale.y, step.halo.before.y, step.halo.after.y, 1, 0, false});
      }
    }
  }
}

int64_t RowReaders::first_row(int64_t grid_row) const {
  int64_t first = rows_;
  for (const Reader& reader : readers_) {
    const int64_t made = std::max<int64_t>(0, grid_row * reader.scale / grid_scale_ - reader.before);
    first = std::min(first, reader.all ? 0 : std::max<int64_t>(0, made / reader.factor - reader.reach));
  }
  return first;
}

int64_t RowReaders::last_row(int64_t grid_row) const {
  int64_t last = 0;
  for (const Reader& reader : readers_) {
    const int64_t made = ceil_divide(grid_row * reader.scale, grid_scale_) + reader.after;
    last = std::max(last, reader.all ? rows_ : ceil_divide(made, reader.factor) + reader.reach);
  }
  return std::min(last, rows_);
}

bool RowReaders::reads_whole() const {
  return std::any_of(readers_.begin(), readers_.end(), [](const Reader& reader) { return reader.all; });
}

Interval blocks_acquired(const Graph& graph, const Pass& pass, const Materialised& materialised,
                         size_t band) {
  const Interval rows = written_rows(graph, pass, materialised, band);
  return {ceil_divide(rows.begin, materialised.block_rows), ceil_divide(rows.end, materialised.block_rows)};
}

Interval blocks_released(const RowReaders& readers, const Pass& pass, const Materialised& materialised,
                         int64_t block_count, size_t band) {
  const auto first_block = [&](size_t of_band) {
    return block_at(materialised, readers.first_row(pass.tiles.y[of_band].begin), block_count);
  };
  const int64_t from = band == 0 ? 0 : first_block(band);
  return {from, band + 1 == pass.tiles.y.size() ? block_count : first_block(band + 1)};
}

Interval blocks_completed(const Graph& graph, const Pass& pass, const Materialised& materialised,
                          size_t band) {
  const Interval rows = written_rows(graph, pass, materialised, band);
  const bool last = band + 1 == pass.tiles.y.size();
  return {rows.begin / materialised.block_rows,
          last ? ceil_divide(rows.end, materialised.block_rows) : rows.end / materialised.block_rows};
}

Interval blocks_read(const RowReaders& readers, const Pass& pass, const Materialised& materialised,
                     size_t band) {
  const Interval& tile = pass.tiles.y[band];
  const int64_t first = first_stored_row(materialised);
  return {std::max<int64_t>(0, readers.first_row(tile.begin) - first) / materialised.block_rows,
          ceil_divide(std::max<int64_t>(0, readers.last_row(tile.end) - first), materialised.block_rows)};
}

std::vector<MaterialisedInPass> materialised_in(const Plan& plan, size_t pass) {
  const auto number = static_cast<int32_t>(pass);
  std::vector<MaterialisedInPass> list;
  for (const Materialised& entry : plan.materialised) {
    if (number < entry.first_pass || number > entry.last_pass) continue;
    const bool taken_over =
        std::any_of(plan.materialised.begin(), plan.materialised.end(),
                    [&](const Materialised& other) { return other.in_place_of == entry.tensor; });
    list.push_back({&entry, number == entry.first_pass, number == entry.last_pass && !taken_over});
  }
  return list;
}

LiveBlocks::LiveBlocks(const Graph& graph, const Pass& pass, const MaterialisedInPass& entry,
                       const Sizes& sizes)
    : graph_(graph),
      pass_(pass),
      materialised_(*entry.materialised),
      written_(entry.written),
      leaves_(entry.leaves),
      below_(entry.materialised->tier != MemoryTier::device),
      count_(block_count(graph, materialised_, sizes)),
      readers_(graph, pass, materialised_.tensor, sizes),
      staged_(below_ && !written_ && readers_.reads_whole()),
      item_block_bytes_(materialised_block_bytes(graph, materialised_, sizes)),
      block_bytes_(sizes.items * item_block_bytes_) {}

int64_t LiveBlocks::before_store(size_t band) const {
  if (written_) {
    return band == 0 ? 0
                     : block_bytes_ * (blocks_acquired(graph_, pass_, materialised_, band - 1).end -
                                       first_in_flight(band));
  }
  if (staged_) return item_block_bytes_ * std::min(count_, kStagedBlocks);
  if (!below_ && (!leaves_ || band == 0)) return block_bytes_ * count_;
  const Interval read = blocks_read(readers_, pass_, materialised_, band);
  if (!below_) return block_bytes_ * (count_ - std::min(count_, read.begin));
  const int64_t end =
      band + 1 < pass_.tiles.y.size() ? blocks_read(readers_, pass_, materialised_, band + 1).end : read.end;
  return block_bytes_ * std::max<int64_t>(0, std::max(read.end, end) - read.begin);
}

int64_t LiveBlocks::after_store(size_t band) const {
  if (!written_) return before_store(band);
  return block_bytes_ * (blocks_acquired(graph_, pass_, materialised_, band).end - first_in_flight(band));
}

/// The first block that is still on the device while a band runs: blocks that the band before completed may
/// be leaving for their tier.
int64_t LiveBlocks::first_in_flight(size_t band) const {
  return below_ && band > 0 ? blocks_completed(graph_, pass_, materialised_, band - 1).begin : 0;
}

}  // namespace headroom
