#include "decoder/lowering/block_windows.h"

#include <algorithm>
#include <limits>

#include "decoder/graph/geometry.h"
#include "decoder/lowering/blocks.h"
#include "decoder/lowering/tiles.h"

namespace headroom {
namespace {

int64_t first_kept_row(const KeptTensor& kept) {
  return kept.rows ? kept.rows->begin : 0;
}

/// The rows that a band writes, counted from the first that is stored. The first band's begin there and the
/// last band's end with the last: what a rank stores beside its own rows is there as long as its neighbours
/// are. Of a tensor that is kept above a row, bands further down write none.
Interval written_rows(const Graph& graph, const Pass& pass, const KeptTensor& kept, size_t band) {
  Interval rows = image(pass.tiles.y[band], graph.tensor(kept.tensor).scale.y, pass.scale.y);
  if (!kept.rows) return rows;
  const Interval& stored = *kept.rows;
  if (band == 0 && pass.part != PassPart::lower) rows.begin = stored.begin;
  if (band + 1 == pass.tiles.y.size() && pass.part != PassPart::upper) rows.end = stored.end;
  return {std::min(rows.begin, stored.end) - stored.begin, std::min(rows.end, stored.end) - stored.begin};
}

/// The block that has a row, or would have it; no later one than the last one's end.
int64_t block_at(const KeptTensor& kept, int64_t row, int64_t block_count) {
  const int64_t rows = std::max<int64_t>(0, row - first_kept_row(kept));
  return std::min(block_count, rows / kept.block_rows);
}

/// The rows that a step makes for a band of its grid, as far as it reads for them: what it has from the band
/// before is not made again.
struct RowsMade {
  int32_t before = 0;  ///< the first one, before the band's own
  int64_t last_begin = std::numeric_limits<int64_t>::max();
};

RowsMade rows_made(const Graph& graph, const Pass& pass, const Step& step, const Sizes& sizes) {
  if (!pass.carries_rows || takes_statistics(step.kind)) return {step.halo.before.y};
  const auto read_again = static_cast<int32_t>(step.halo.before.y - carried_rows(pass, step));
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
                            made.last_begin, op.factor.y, reach(op, i).before.y, is_barrier(op, i)});
      } else {
        // Gathers, statistics, accumulations and residuals read the positions of their own tile.
        readers_.push_back(
            {graph.tensor(tensor).scale.y, made.before, step.halo.after.y, made.last_begin, 1, 0, false});
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

Interval blocks_acquired(const Graph& graph, const Pass& pass, const KeptTensor& kept, size_t band) {
  const Interval rows = written_rows(graph, pass, kept, band);
  return {ceil_divide(rows.begin, kept.block_rows), ceil_divide(rows.end, kept.block_rows)};
}

/// The first block that band `band` of a pass still needs, or passes after it; those before have left.
int64_t first_block_left(const RowReaders& readers, const Pass& pass, const KeptInPass& entry,
                         int64_t block_count, size_t band) {
  int64_t row = entry.begin_row;
  if (band > 0) {
    const int64_t read = readers.first_row(pass.tiles.y[band].begin);
    // Where all is read before the last bands, its last block leaves as well.
    if (pass.carries_rows && read >= readers.rows() && !entry.held_from) return block_count;
    row = std::max(row, std::min(read, entry.held_from.value_or(read)));
  }
  return block_at(*entry.kept, row, block_count);
}

Interval blocks_released(const RowReaders& readers, const Pass& pass, const KeptInPass& entry,
                         int64_t block_count, size_t band) {
  const int64_t from = first_block_left(readers, pass, entry, block_count, band);
  if (band + 1 < pass.tiles.y.size())
    return {from, first_block_left(readers, pass, entry, block_count, band + 1)};
  return {from, entry.held_from ? block_at(*entry.kept, *entry.held_from, block_count) : block_count};
}

Interval blocks_completed(const Graph& graph, const Pass& pass, const KeptTensor& kept, size_t band) {
  const Interval rows = written_rows(graph, pass, kept, band);
  const bool last = band + 1 == pass.tiles.y.size();
  return {rows.begin / kept.block_rows,
          last ? ceil_divide(rows.end, kept.block_rows) : rows.end / kept.block_rows};
}

Interval blocks_read(const RowReaders& readers, const Pass& pass, const KeptTensor& kept, size_t band) {
  const Interval& tile = pass.tiles.y[band];
  const int64_t first = first_kept_row(kept), begin = readers.first_row(tile.begin);
  const int64_t end = ceil_divide(std::max<int64_t>(0, readers.last_row(tile.end) - first), kept.block_rows);
  if (pass.carries_rows && begin >= readers.rows()) return {end, end};
  return {std::max<int64_t>(0, begin - first) / kept.block_rows, end};
}

int64_t first_row_of_lower_part(const Graph& graph, const Pass& lower, TensorId tensor, const Sizes& sizes) {
  return RowReaders(graph, lower, tensor, sizes).first_row(lower.tiles.y.front().begin);
}

int64_t first_row_below(const Graph& graph, TensorId tensor, int64_t latent_rows) {
  return std::max<int64_t>(0, latent_rows - kRowsAboveLine) * graph.tensor(tensor).scale.y;
}

namespace {

bool reads(const Pass& pass, TensorId tensor) {
  return std::any_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    return contains(step.inputs, Operand{tensor, -1});
  });
}

/// Rows above those that lower parts read, which go with the last pass that reads them.
struct UpperRows {
  int64_t end = 0;        ///< 0 where all rows stay as long as the tensor
  int32_t last_pass = 0;  ///< a whole pass, or an upper part
};

/// The lowest row of the latent above which a tensor is kept; 0 where all are kept whole.
int64_t lowest_line(const Graph& graph, const Plan& plan) {
  int64_t rows = 0;
  for (const KeptTensor& entry : plan.kept) {
    if (!plan.share.alone() || !entry.rows) continue;
    const int64_t above = entry.rows->end / graph.tensor(entry.tensor).scale.y;
    rows = rows == 0 ? above : std::min(rows, above);
  }
  return rows;
}

/// `line` is the plan's lowest_line().
UpperRows upper_rows(const Graph& graph, const Plan& plan, const KeptTensor& entry, const Sizes& sizes,
                     int64_t line) {
  UpperRows upper{entry.rows ? 0 : first_row_below(graph, entry.tensor, line), entry.first_pass};
  if (upper.end == 0 || entry.tier != MemoryTier::device) return {};
  const auto last_part = [&](int32_t pass) {
    return plan.passes[static_cast<size_t>(pass)].part == PassPart::upper ? pass + 1 : pass;
  };
  for (int32_t pass = entry.last_pass; pass > last_part(entry.first_pass); --pass) {
    const Pass& reader = plan.passes[static_cast<size_t>(pass)];
    if (!reads(reader, entry.tensor)) continue;
    if (reader.part != PassPart::lower) {
      upper.last_pass = pass;
      break;
    }
    if (first_row_of_lower_part(graph, reader, entry.tensor, sizes) < upper.end) return {};
  }
  const bool goes_first = last_part(upper.last_pass) < entry.last_pass;
  return goes_first && upper.last_pass > last_part(entry.first_pass) ? upper : UpperRows{};
}

}  // namespace

std::vector<KeptInPass> kept_in(const Graph& graph, const Plan& plan, size_t pass, const Sizes& sizes) {
  const auto number = static_cast<int32_t>(pass);
  const PassPart part = plan.passes[pass].part;
  const int64_t line = lowest_line(graph, plan);
  std::vector<KeptInPass> list;
  for (const KeptTensor& entry : plan.kept) {
    if (number < entry.first_pass || number > entry.last_pass) continue;
    const bool taken_over = std::any_of(plan.kept.begin(), plan.kept.end(), [&](const KeptTensor& other) {
      return other.in_place_of == entry.tensor;
    });
    KeptInPass seen{&entry};
    seen.written = number == entry.first_pass || (part == PassPart::lower && number - 1 == entry.first_pass);
    const bool leaves_below = part == PassPart::upper && number + 1 == entry.last_pass;
    seen.leaves = (number == entry.last_pass || leaves_below) && !taken_over;
    const UpperRows upper = upper_rows(graph, plan, entry, sizes, line);
    if (upper.end > 0 && number > upper.last_pass) seen.begin_row = upper.end;
    if (upper.end > 0 && number == upper.last_pass) {
      seen.leaves = true;
      seen.held_from = upper.end;
    } else if (leaves_below && seen.leaves) {
      seen.held_from = first_row_of_lower_part(graph, plan.passes[pass + 1], entry.tensor, sizes);
    } else if (part == PassPart::lower && seen.leaves) {
      seen.begin_row = first_row_of_lower_part(graph, plan.passes[pass], entry.tensor, sizes);
    }
    list.push_back(seen);
  }
  return list;
}

LiveBlocks::LiveBlocks(const Graph& graph, const Pass& pass, const KeptInPass& entry, const Sizes& sizes)
    : graph_(graph),
      pass_(pass),
      kept_(*entry.kept),
      written_(entry.written),
      leaves_(entry.leaves),
      below_(entry.kept->tier != MemoryTier::device),
      begin_row_(entry.begin_row),
      held_from_(entry.held_from),
      count_(block_count(graph, kept_, sizes)),
      readers_(graph, pass, kept_.tensor, sizes),
      staged_(below_ && !written_ && readers_.reads_whole()),
      item_block_bytes_(kept_block_bytes(graph, kept_, sizes)),
      block_bytes_(sizes.items * item_block_bytes_) {}

int64_t LiveBlocks::before_store(size_t band) const {
  if (written_) return block_bytes_ * (acquired_before(band) - first_in_flight(band));
  if (staged_) return item_block_bytes_ * std::min(count_, kStagedBlocks);
  if (!below_) {
    const KeptInPass entry{&kept_, written_, leaves_, begin_row_, held_from_};
    return block_bytes_ * (count_ - first_block_left(readers_, pass_, entry, count_, leaves_ ? band : 0));
  }
  const Interval read = blocks_read(readers_, pass_, kept_, band);
  const int64_t end =
      band + 1 < pass_.tiles.y.size() ? blocks_read(readers_, pass_, kept_, band + 1).end : read.end;
  return block_bytes_ * std::max<int64_t>(0, std::max(read.end, end) - read.begin);
}

int64_t LiveBlocks::after_store(size_t band) const {
  if (!written_) return before_store(band);
  return block_bytes_ * (blocks_acquired(graph_, pass_, kept_, band).end - first_in_flight(band));
}

/// Blocks that the bands before this one have written, the upper part of the pass included.
int64_t LiveBlocks::acquired_before(size_t band) const {
  return band == 0 ? blocks_acquired(graph_, pass_, kept_, 0).begin
                   : blocks_acquired(graph_, pass_, kept_, band - 1).end;
}

/// The first block that is still on the device while a band runs: blocks that the band before completed may
/// be leaving for their tier.
int64_t LiveBlocks::first_in_flight(size_t band) const {
  return below_ && band > 0 ? blocks_completed(graph_, pass_, kept_, band - 1).begin : 0;
}

}  // namespace headroom
