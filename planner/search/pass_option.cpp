#include "planner/search/pass_option.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/operations/convolution.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/row_readers.h"
#include "decoder/schedule/storage.h"
#include "decoder/schedule/tiles.h"

namespace headroom::planner {

std::vector<ConvolutionAlgorithms> pass_algorithms(const Graph& graph, const Pass& pass,
                                                   const std::vector<ConvolutionAlgorithm>& of_device) {
  std::vector<ConvolutionAlgorithms> list{ConvolutionAlgorithm::direct};
  if (!contains(of_device, ConvolutionAlgorithm::winograd)) return list;
  std::vector<OpId> changing = operations_of(pass);
  std::erase_if(changing, [&](OpId op) { return !has_winograd(graph, op); });
  const auto coarseness = [&](OpId id) {
    const Op& op = graph.op(id);
    const Axes<int32_t>& scale = graph.tensor(op.inputs[0]).scale;
    return std::tuple(scale.t * scale.y * scale.x, op.factor.y > 1 ? 0 : 1);
  };
  std::stable_sort(changing.begin(), changing.end(),
                   [&](OpId a, OpId b) { return coarseness(a) < coarseness(b); });
  for (size_t direct = 0; direct < changing.size(); ++direct) {
    const auto end = changing.begin() + static_cast<std::ptrdiff_t>(direct);
    list.push_back({ConvolutionAlgorithm::winograd, std::vector<OpId>(changing.begin(), end)});
  }
  return list;
}

// Candidate tiles: every combination of height, width and chunk length. TileChoice picks among them
// (planner/search/tile_choice.h).

namespace {

constexpr int64_t kLeastRows = 4;
constexpr int64_t kLeastColumns = 32;
constexpr int64_t kMostBands = 128;  // keeps planning time independent of the picture's height
constexpr int64_t kMostWidths = 6;
constexpr int64_t kLongestChunk = 8;  // in frames, unless the chunk has all frames

std::vector<int64_t> halvings(int64_t length, int64_t least, int64_t most) {
  std::vector<int64_t> lengths{length};
  int64_t power = least;
  while (power * 2 < length) power *= 2;
  for (; power >= least && power < length && static_cast<int64_t>(lengths.size()) < most; power /= 2)
    lengths.push_back(power);
  return lengths;
}

// Tile heights and widths to try along a grid axis of this length: the whole length, and powers of two.
std::vector<int64_t> tile_heights(int64_t length) {
  int64_t least = kLeastRows;
  while (least * kMostBands < length) least *= 2;
  return halvings(length, least, 64);
}

std::vector<int64_t> tile_widths(int64_t length) {
  return halvings(length, kLeastColumns, kMostWidths);
}

// Chunk lengths to try, in frames: all frames first, then shorter chunks down to one frame.
std::vector<int64_t> chunk_lengths(int64_t frames) {
  std::vector<int64_t> lengths{frames};
  for (int64_t length = kLongestChunk; length > 0; length /= 2) {
    if (length < frames) lengths.push_back(length);
  }
  return lengths;
}

}  // namespace

PassOption::PassOption(WorkingBytes& working, const KeptRows& kept, std::vector<TensorUse> touched)
    : working_(working),
      graph_(working.graph()),
      costs_(working.costs()),
      sizes_(working.sizes()),
      pass_(working.pass()),
      touched_(std::move(touched)),
      algorithms_(working.algorithms()) {
  for (TensorUse use : touched_) {
    use.rows = rows_of(use.tensor, kept);
    if (const std::optional<Interval> of_rank = kept.of(use.tensor)) {
      const Interval known = *of_rank;
      widened_bytes_ += std::max(known.begin - use.rows->begin, use.rows->end - known.end) *
                        row_bytes(graph_, use.tensor, sizes_) * sizes_.items;
    }
    use.block_rows = block_rows(graph_, use, sizes_, costs_.memory().block_bytes);
    uses_.push_back(use);
    whole_bytes_.push_back(kept_bytes(graph_, use, sizes_));
    stored_.push_back(store_step(pass_, use.tensor) >= 0);
  }
  Extent grid = extent_at(pass_.scale, sizes_.latent);
  grid.y = grid_rows();
  widths_ = tile_widths(grid.x);
  chunks_ = takes_chunks(graph_, pass_) ? chunk_lengths(grid.t) : std::vector{grid.t};
  for (const int64_t rows : tile_heights(grid.y)) {
    if (!suits_bands(graph_, pass_, rows, grid.y)) continue;
    const std::vector<Interval> bands = cut_rows(graph_, pass_, rows, sizes_);
    Height height{.length = rows, .bands = bands.size()};
    if (!bands.empty()) {  // empty: a rank without rows
      height.first_band = bands.front().length();
      height.last_band = bands.back().length();
    }
    heights_.push_back(height);
  }
  if (heights_.empty()) return;  // this alternative does not exist
  find_possible();
  find_priced();
  for (const ConvolutionAlgorithms& algorithms : algorithms_) {
    const auto bytes = [&](WeightResidency residency) {
      return pass_weights_bytes(graph_, pass_, algorithms, residency, sizes_.storage());
    };
    brought_.push_back({bytes(WeightResidency::per_pass), bytes(WeightResidency::resident)});
  }
}

void PassOption::find_seconds() const {
  std::vector<int64_t> heights;
  for (const Height& height : heights_) heights.push_back(height.length);
  for (size_t number = 0; number < algorithms_.size(); ++number) {
    pass_.convolutions = algorithms_[number];
    seconds_.emplace_back();
    auto begin = possible_.begin();
    for (int64_t frames : chunks_) {
      const auto end = begin + static_cast<std::ptrdiff_t>(heights_.size() * widths_.size());
      seconds_.back().push_back(costs_.shape_seconds(pass_, frames, heights, widths_, sizes_, {begin, end}));
      begin = end;
    }
    if (pass_.convolutions.algorithm == ConvolutionAlgorithm::direct) continue;
    const double transform = costs_.transform_seconds(brought_[number].beside_resident);
    for (std::vector<double>& of_chunk : seconds_.back()) {
      for (double& seconds : of_chunk) seconds += transform;
    }
  }
}

std::optional<Interval> PassOption::rows_of(TensorId tensor, const KeptRows& kept) const {
  const std::optional<Interval> rows = kept.of(tensor);
  if (!rows) return rows;
  const RowReaders readers(graph_, pass_, tensor, sizes_);
  const Interval grid = own_rows(sizes_, pass_.scale.y);
  return Interval{std::min(rows->begin, readers.first_row(grid.begin)),
                  std::max(rows->end, readers.last_row(grid.end))};
}

std::vector<Shape> PassOption::shapes() const {
  std::vector<Shape> list;
  list.reserve(heights() * widths() * chunks() * algorithms_.size());
  for (size_t algorithms = 0; algorithms < algorithms_.size(); ++algorithms) {
    for (size_t height = 0; height < heights(); ++height) {
      for (size_t i = 0; i < widths() * chunks(); ++i) {
        const Shape shape(height, i % widths(), i / widths(), algorithms);
        if (is_usable(shape)) list.push_back(shape);
      }
    }
  }
  return list;
}

std::vector<Shape> PassOption::small_shapes() const {
  std::vector<Shape> list = shapes();
  // Measured workspaces may grow or shrink with the tile, and a profile may not cover every tile.
  if (costs_.assumed()) {
    std::erase_if(list, [&](const Shape& shape) {
      const bool whole = shape.width == 0 && shape.chunk == 0;
      Shape narrower = shape;
      ++narrower.width;
      const bool narrowest = narrower.width == widths() || too_many_tiles(narrower);
      Shape shorter = shape;
      ++shorter.chunk;
      const bool few_or_all_frames = shape.chunk == 0 || shorter.chunk == chunks() || too_many_tiles(shorter);
      // Carried rows take more memory when a band has more tiles, so narrower tiles may need more.
      const bool smaller = narrowest || pass_.carries(Axis::y);
      return shape.algorithms > 0 || (!whole && !(smaller && few_or_all_frames));
    });
  }
  std::reverse(list.begin(), list.end());
  return list;
}

bool PassOption::too_many_tiles(const Shape& shape) const {
  const DeviceRecord& device = device_record(sizes_.device);
  const Extent grid = extent_at(pass_.scale, sizes_.latent);
  const int64_t columns = ceil_divide(grid.x, widths_[shape.width]);
  const int64_t chunks = ceil_divide(grid.t, chunks_[shape.chunk]);
  const int64_t of_chunk = static_cast<int64_t>(bands(shape.height)) * columns;
  return of_chunk > device.most_tiles_of_chunk || of_chunk * chunks > device.most_tiles;
}

void PassOption::decide(const Shape& shape, PassDecision& decision) const {
  decision.tile = tile(shape);
  decision.convolutions = algorithms_[shape.algorithms];
  decision.carries_rows = pass_.carries_rows;
}

double PassOption::seconds(const Shape& shape) const {
  if (seconds_.empty()) find_seconds();
  return seconds_[shape.algorithms][shape.chunk][shape.height * widths() + shape.width];
}

int64_t PassOption::brought_bytes(const Shape& shape, WeightResidency residency) const {
  const Brought& brought = brought_[shape.algorithms];
  const bool all = residency == WeightResidency::per_pass;
  return allocated_bytes(all ? brought.per_pass : brought.beside_resident, sizes_);
}

Extent PassOption::tile(const Shape& shape) const {
  return {chunks_[shape.chunk], heights_[shape.height].length, widths_[shape.width]};
}

void PassOption::find_possible() {
  for (size_t chunk = 0; chunk < chunks(); ++chunk) {
    for (size_t i = 0; i < heights() * widths(); ++i)
      possible_.push_back(!too_many_tiles(Shape(i / widths(), i % widths(), chunk)));
  }
  exclude_large_tiles();
}

void PassOption::exclude_large_tiles() {
  const int64_t most = storage_rules(sizes_).most_tile_values();
  const auto can_index = [&](const Shape& shape) {
    const Extent grid = tile(shape);
    return std::all_of(pass_.steps.begin(), pass_.steps.end(), [&](const Step& step) {
      const int64_t channels = graph_.tensor(step.tensor).channels;
      return !makes_tile(step) ||
             positions(largest_tile(graph_, pass_, step, grid, sizes_)) <= most / channels;
    });
  };
  if (can_index({})) return;  // the whole picture is the largest tile
  for (const Step& step : pass_.steps) {
    if (!makes_tile(step)) continue;
    // A tile's extent along an axis depends on the grid's along that axis alone.
    const Axes<TileAxis> axes = tile_axes(graph_, pass_, step, step.tensor, sizes_.latent);
    const auto along = [&](size_t count, int64_t Extent::*axis, const auto& shape_of) {
      std::vector<int64_t> lengths;
      lengths.reserve(count);
      for (size_t i = 0; i < count; ++i) lengths.push_back(largest_tile(axes, tile(shape_of(i))).*axis);
      return lengths;
    };
    const auto frames = along(chunks(), &Extent::t, [](size_t i) { return Shape(0, 0, i); });
    const auto rows = along(heights(), &Extent::y, [](size_t i) { return Shape(i, 0, 0); });
    const auto columns = along(widths(), &Extent::x, [](size_t i) { return Shape(0, i, 0); });
    const int64_t most_positions = most / graph_.tensor(step.tensor).channels;
    size_t shape = 0;
    for (const int64_t t : frames) {
      for (const int64_t y : rows) {
        for (const int64_t x : columns) {
          if (t * y * x > most_positions) possible_[shape] = false;
          ++shape;
        }
      }
    }
  }
}

void PassOption::find_priced() {
  bool any = false;
  for (const ConvolutionAlgorithms& algorithms : algorithms_) {
    priced_.emplace_back();
    pass_.convolutions = algorithms;
    if (costs_.covers(pass_, tile({}), sizes_)) {  // the whole picture is the largest tile
      any = true;
      continue;
    }
    for (size_t chunk = 0; chunk < chunks(); ++chunk) {
      for (size_t i = 0; i < heights() * widths(); ++i) {
        const Extent grid = tile(Shape(i / widths(), i % widths(), chunk));
        priced_.back().push_back(costs_.covers(pass_, grid, sizes_));
        any = any || (priced_.back().back() && possible_[priced_.back().size() - 1]);
      }
    }
  }
  if (!any) priced_.assign(algorithms_.size(), {});
}

CostModel::Transfers PassOption::transfers(const std::vector<MemoryTier>& tiers) const {
  CostModel::Transfers transfers;
  const std::vector<TensorId> staged_keys = staged(tiers);
  for (size_t i = 0; i < touched_.size(); ++i) {
    if (tiers[i] == MemoryTier::device || contains(staged_keys, touched_[i].tensor)) continue;
    costs_.add_transfer(transfers, tiers[i], touched_[i].written, double(whole_bytes_[i]));
  }
  return transfers;
}

std::vector<TensorId> PassOption::staged(const std::vector<MemoryTier>& tiers) const {
  std::vector<TensorId> below;
  for (size_t i = 0; i < touched_.size(); ++i) {
    if (tiers[i] != MemoryTier::device) below.push_back(touched_[i].tensor);
  }
  return staged_in(pass_, below);
}

double PassOption::staging_seconds(const Shape& shape, const std::vector<MemoryTier>& tiers) const {
  const std::vector<TensorId> staged_keys = staged(tiers);
  if (staged_keys.empty()) return 0;
  const Extent grid = extent_at(pass_.scale, sizes_.latent);
  const int64_t tiles =
      ceil_divide(grid_rows(), heights_[shape.height].length) * ceil_divide(grid.x, widths_[shape.width]);
  double seconds = 0;
  for (const Step& step : pass_.steps) {
    if (step.kind != OpKind::attention || !contains(staged_keys, step.inputs[1].tensor)) continue;
    int64_t bytes = 0;
    MemoryTier tier = MemoryTier::device;
    for (size_t i = 0; i < touched_.size(); ++i) {
      const TensorId id = touched_[i].tensor;
      if (id == step.inputs[1].tensor) tier = tiers[i];
      if (id == step.inputs[1].tensor || id == step.inputs[2].tensor) bytes += whole_bytes_[i];
    }
    seconds += costs_.staging_seconds(step.op, tier, bytes * tiles, sizes_);
  }
  return seconds;
}

int64_t PassOption::least_bytes(const std::vector<MemoryTier>& tiers) const {
  int64_t begin = 0, end = 0;
  for (size_t i = 0; i < touched_.size(); ++i) {
    if (tiers[i] != MemoryTier::device) continue;
    const TensorUse& use = uses_[i];
    if (!use.written) begin += whole_bytes_[i];
    // A tensor written without a store takes over the blocks of another tensor.
    if (use.written ? stored_[i] : !use.leaves) end += whole_bytes_[i];
  }
  return std::max(begin, end);
}

const PassOption::LiveBySegment& PassOption::live_bytes(size_t height,
                                                        const std::vector<MemoryTier>& tiers) const {
  const auto [known, is_new] = live_bytes_.try_emplace({height, tiers});
  LiveBySegment& bytes = known->second;
  if (!is_new) return bytes;
  pass_.tiles.y = cut_rows(graph_, pass_, heights_[height].length, sizes_);
  std::vector<Window> windows;
  for (size_t i = 0; i < uses_.size(); ++i) {
    // A tensor written without a store takes over the blocks of the tensor that it replaces.
    if (uses_[i].written && !stored_[i]) continue;
    TensorUse use = uses_[i];
    use.tier = tiers[i];
    windows.push_back(window_of(graph_, pass_, use, sizes_));
  }
  pass_.tiles.y = {};
  const auto bands = static_cast<int64_t>(heights_[height].bands);
  bytes.staged = staged(tiers);
  const int64_t begin = pass_.carries(Axis::y) && bands > 1 ? 1 : 0;
  if (begin > 0) bytes.first = block_bytes_by_segment(windows, {0, begin});
  if (bands > begin + 1) bytes.full = block_bytes_by_segment(windows, {begin, bands - 1});
  bytes.last = block_bytes_by_segment(windows, {bands - 1, bands});
  return bytes;
}

int64_t PassOption::peak_bytes(const Shape& shape, const LiveBySegment& live) const {
  const Height& height = heights_[shape.height];
  const Extent full = tile(shape);
  const Extent first{full.t, height.first_band, full.x}, last{full.t, height.last_band, full.x};
  const bool several_tiles = widths_[shape.width] != sizes_.latent.x * pass_.scale.x ||
                             chunks_[shape.chunk] != extent_at(pass_.scale, sizes_.latent).t;
  const auto most = [&](const std::vector<SegmentBytes>& blocks, const Extent& of_tile,
                        BandPlace place = BandPlace::further_down) {
    const auto working = working_.of_tile({of_tile, place}, shape.algorithms, live.staged);
    return peak_of(blocks, working, several_tiles).bytes;
  };
  int64_t bytes = most(live.last, last);
  if (!live.full.empty()) bytes = std::max(bytes, most(live.full, full));
  if (!live.first.empty()) bytes = std::max(bytes, most(live.first, first, BandPlace::first));
  return bytes;
}

}  // namespace headroom::planner
