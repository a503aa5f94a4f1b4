#include "planner/pass_option.h"

#include <algorithm>

#include "decoder/plan/builder.h"

namespace headroom {
namespace {

constexpr int64_t kLeastRows = 4;
constexpr int64_t kLeastColumns = 32;
constexpr int64_t kMostBands = 128;  // keeps planning time independent of the picture's height
constexpr int64_t kMostWidths = 4;

std::vector<int64_t> halvings(int64_t length, int64_t least, int64_t most) {
  std::vector<int64_t> lengths{length};
  int64_t power = least;
  while (power * 2 < length) power *= 2;
  for (; power >= least && power < length && static_cast<int64_t>(lengths.size()) < most; power /= 2) lengths.push_back(power);
  return lengths;
}

bool reads_whole(const Pass& pass, TensorId id) {
  return std::any_of(pass.steps.begin(), pass.steps.end(), [&](const Step& step) {
    return std::find(step.inputs.begin(), step.inputs.end(), Operand{id, -1}) != step.inputs.end();
  });
}

}  // namespace

std::vector<int64_t> tile_heights(int64_t length) {
  int64_t least = kLeastRows;
  while (least * kMostBands < length) least *= 2;
  return halvings(length, least, 64);
}

std::vector<int64_t> tile_widths(int64_t length) { return halvings(length, kLeastColumns, kMostWidths); }

PassOption::PassOption(const Graph& graph, const CostModel& costs, const Sizes& sizes, Pass lowered,
                       std::vector<TouchedTensor> touched, int64_t weights_bytes)
    : graph_(graph),
      costs_(costs),
      sizes_(sizes),
      pass_(std::move(lowered)),
      touched_(std::move(touched)),
      weights_bytes_(weights_bytes) {
  for (const TouchedTensor& tensor : touched_) {
    Kept entry;
    entry.tensor = tensor.tensor;
    entry.block_rows = block_rows(graph_, tensor.tensor, sizes_, costs_.memory().block_bytes);
    entries_.push_back(entry);
    read_.push_back(reads_whole(pass_, tensor.tensor));
    whole_bytes_.push_back(sizes_.items * block_count(graph_, entry, sizes_) *
                           allocated_bytes(entry.block_rows * row_bytes(graph_, tensor.tensor, sizes_)));
  }
  for (const Step& step : pass_.steps) {
    if (step.kind != StepKind::store) continue;
    const auto stored = std::find_if(touched_.begin(), touched_.end(),
                                     [&](const TouchedTensor& tensor) { return tensor.tensor == step.tensor; });
    stored_.push_back(static_cast<size_t>(stored - touched_.begin()));
  }
  const Extent grid = per_axis([](int64_t length, int32_t scale) { return length * scale; }, sizes_.latent, pass_.scale);
  const std::vector<int64_t> widths = tile_widths(grid.x), rows_of_heights = tile_heights(grid.y);
  const std::vector<double> seconds = costs_.shape_seconds(graph_, pass_, grid.t, rows_of_heights, widths, sizes_);
  for (int64_t rows : rows_of_heights) {
    heights_.push_back({rows, static_cast<size_t>((grid.y + rows - 1) / rows)});
    for (int64_t columns : widths) columns_.push_back({columns, seconds[columns_.size()], columns == grid.x, {}, {}});
  }
}

const PassOption::Series& PassOption::series(size_t number, size_t tensor, bool below) const {
  live_.resize(heights_.size());
  live_[number].resize(touched_.size());
  Series& series = live_[number][tensor][below];
  if (!series.before.empty()) return series;
  const Height& height = heights_[number];
  pass_.tiles.y = cut(sizes_.latent.y * pass_.scale.y, height.length);
  Kept entry = entries_[tensor];
  if (below) entry.place = Place::scratch;  // windows are the same in every place below the device
  const LiveBlocks blocks(graph_, pass_, {&entry, touched_[tensor].written, touched_[tensor].leaves}, sizes_);
  for (size_t band = 0; band < height.bands; ++band) {
    series.before.push_back(blocks.before_store(band));
    series.after.push_back(blocks.after_store(band));
  }
  return series;
}

Shape PassOption::shape(size_t height, size_t width) const {
  return {{sizes_.latent.t * pass_.scale.t, heights_[height].length, column(height, width).length}, 0, -1};
}

double PassOption::transfer_seconds(const std::vector<Place>& places) const {
  double seconds = 0;
  for (size_t i = 0; i < touched_.size(); ++i) {
    if (places[i] == Place::device) continue;
    if (touched_[i].written) {
      seconds += costs_.write_seconds(places[i], double(whole_bytes_[i]));
    } else if (read_[i]) {
      seconds += costs_.read_seconds(places[i], double(whole_bytes_[i]));
    }
  }
  return seconds;
}

int64_t PassOption::least_bytes(const std::vector<Place>& places) const {
  int64_t begin = 0, end = 0;
  for (size_t i = 0; i < touched_.size(); ++i) {
    if (places[i] != Place::device) continue;
    const bool stored = std::find(stored_.begin(), stored_.end(), i) != stored_.end();
    if (!touched_[i].written) begin += whole_bytes_[i];
    if (touched_[i].written ? stored : !touched_[i].leaves) end += whole_bytes_[i];
  }
  return std::max(begin, end);
}

PassOption::LiveBytes PassOption::live_bytes(size_t number, const std::vector<Place>& places) const {
  const Height& height = heights_[number];
  std::vector<int64_t> live(height.bands, 0);
  LiveBytes bytes;
  const auto record = [&] {
    bytes.largest.push_back(height.bands > 1 ? *std::max_element(live.begin(), live.end() - 1) : 0);
    bytes.last.push_back(live.back());
  };
  for (size_t i = 0; i < touched_.size(); ++i) {
    const bool stored = std::find(stored_.begin(), stored_.end(), i) != stored_.end();
    if (touched_[i].written && !stored) continue;  // in the blocks of the tensor that it replaces
    const std::vector<int64_t>& before = series(number, i, places[i] != Place::device).before;
    for (size_t band = 0; band < height.bands; ++band) live[band] += before[band];
  }
  record();
  for (size_t i : stored_) {
    const Series& taken = series(number, i, places[i] != Place::device);
    for (size_t band = 0; band < height.bands; ++band) live[band] += taken.after[band] - taken.before[band];
    record();
  }
  return bytes;
}

int64_t PassOption::peak_bytes(size_t height, size_t width, const LiveBytes& live) const {
  const Column& column = this->column(height, width);
  if (column.stretch_bytes.empty()) {
    const Extent tile = shape(height, width).tile;
    const auto stretch_bytes = [&](const Extent& largest) {
      std::vector<int64_t> bytes;
      const std::vector<int64_t> working = step_bytes(graph_, pass_, largest, sizes_, costs_.memory());
      for (const Stretch& stretch : stretches_of(pass_, working)) bytes.push_back(stretch.working_bytes);
      return bytes;
    };
    const Extent last = last_band_tile(tile, sizes_.latent.y * pass_.scale.y);
    column.stretch_bytes = stretch_bytes(tile);
    column.last_stretch_bytes = last == tile ? column.stretch_bytes : stretch_bytes(last);
  }
  int64_t peak = 0;
  // Where a band has several tiles, the others find there what the first one stored.
  for (size_t k = 0; k < live.last.size(); ++k) {
    if (heights_[height].bands > 1) {
      peak = std::max(peak, (column.whole ? live.largest[k] : live.largest.back()) + column.stretch_bytes[k]);
    }
    peak = std::max(peak, (column.whole ? live.last[k] : live.last.back()) + column.last_stretch_bytes[k]);
  }
  return peak;
}

PricedShapes::PricedShapes(const PassOption& option, std::vector<Place> places, int64_t fixed_bytes, double fixed_seconds)
    : option_(&option), places_(std::move(places)), fixed_bytes_(fixed_bytes), least_bytes_(fixed_bytes + option.least_bytes(places_)) {
  const double transfer = option.transfer_seconds(places_);
  std::vector<std::pair<double, std::pair<size_t, size_t>>> order;
  for (size_t height = 0; height < option.heights(); ++height) {
    for (size_t width = 0; width < option.widths(); ++width) {
      // Transfers overlap with compute band by band: only those of one band stand alone.
      const double compute = option.seconds(height, width);
      const double seconds = std::max(compute, transfer) + std::min(compute, transfer) / double(option.bands(height));
      order.push_back({fixed_seconds + seconds, {height, width}});
    }
  }
  std::sort(order.begin(), order.end());
  for (const auto& [seconds, number] : order) {
    Shape shape = option.shape(number.first, number.second);
    shape.seconds = seconds;
    shapes_.push_back(shape);
    numbers_.push_back(number);
  }
  live_bytes_.resize(option.heights());
}

int64_t PricedShapes::peak_of(size_t i) {
  if (shapes_[i].peak_bytes >= 0) return shapes_[i].peak_bytes;
  const auto [height, width] = numbers_[i];
  if (live_bytes_[height].last.empty()) live_bytes_[height] = option_->live_bytes(height, places_);
  return shapes_[i].peak_bytes = fixed_bytes_ + option_->peak_bytes(height, width, live_bytes_[height]);
}

const Shape* PricedShapes::fastest_within(int64_t limit_bytes) {
  if (least_bytes_ > limit_bytes) return nullptr;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (peak_of(i) <= limit_bytes) return &shapes_[i];
  }
  return nullptr;
}

const Shape* PricedShapes::smallest() {
  return &*std::min_element(all().begin(), all().end(), [](const Shape& a, const Shape& b) { return a.peak_bytes < b.peak_bytes; });
}

const std::vector<Shape>& PricedShapes::all() {
  for (size_t i = 0; i < shapes_.size(); ++i) peak_of(i);
  return shapes_;
}

}  // namespace headroom
