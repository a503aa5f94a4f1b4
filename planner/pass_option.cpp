#include "planner/pass_option.h"

#include <algorithm>
#include <tuple>

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
  for (; power >= least && power < length && static_cast<int64_t>(lengths.size()) < most; power /= 2)
    lengths.push_back(power);
  return lengths;
}

}  // namespace

std::vector<int64_t> tile_heights(int64_t length) {
  int64_t least = kLeastRows;
  while (least * kMostBands < length) least *= 2;
  return halvings(length, least, 64);
}

std::vector<int64_t> tile_widths(int64_t length) {
  return halvings(length, kLeastColumns, kMostWidths);
}

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
    whole_bytes_.push_back(kept_bytes(graph_, entry, sizes_));
  }
  for (const Step& step : pass_.steps) {
    if (step.kind != StepKind::store) continue;
    const auto stored = std::find_if(touched_.begin(), touched_.end(), [&](const TouchedTensor& tensor) {
      return tensor.tensor == step.tensor;
    });
    stored_.push_back(static_cast<size_t>(stored - touched_.begin()));
  }
  const Extent grid =
      per_axis([](int64_t length, int32_t scale) { return length * scale; }, sizes_.latent, pass_.scale);
  const std::vector<int64_t> widths = tile_widths(grid.x), rows_of_heights = tile_heights(grid.y);
  const std::vector<double> seconds =
      costs_.shape_seconds(graph_, pass_, grid.t, rows_of_heights, widths, sizes_);
  for (int64_t rows : rows_of_heights) {
    heights_.push_back({rows, static_cast<size_t>((grid.y + rows - 1) / rows)});
    for (int64_t columns : widths) columns_.push_back({columns, seconds[columns_.size()]});
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

Extent PassOption::tile(size_t height, size_t width) const {
  return {sizes_.latent.t * pass_.scale.t, heights_[height].length, column(height, width).length};
}

double PassOption::transfer_seconds(const std::vector<Place>& places) const {
  double seconds = 0;
  for (size_t i = 0; i < touched_.size(); ++i) {
    if (places[i] == Place::device) continue;
    const auto bytes = double(whole_bytes_[i]);
    seconds +=
        touched_[i].written ? costs_.write_seconds(places[i], bytes) : costs_.read_seconds(places[i], bytes);
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

const PassOption::Working& PassOption::working(size_t height, size_t width) const {
  const auto [entry, is_new] = working_.try_emplace({height, width});
  Working& working = entry->second;
  if (!is_new) return working;
  const auto stretch_bytes = [&](const Extent& largest) {
    std::vector<int64_t> bytes;
    for (const Stretch& stretch :
         stretches_of(pass_, step_bytes(graph_, pass_, largest, sizes_, costs_.memory()))) {
      bytes.push_back(stretch.working_bytes);
    }
    return bytes;
  };
  const Extent full = tile(height, width), last = last_band_tile(full, sizes_.latent.y * pass_.scale.y);
  working.full = stretch_bytes(full);
  working.last = last == full ? working.full : stretch_bytes(last);
  return working;
}

int64_t PassOption::peak_bytes(size_t height, size_t width, const LiveBytes& live) const {
  const Working& tiles = working(height, width);
  const bool one_tile = column(height, width).length == sizes_.latent.x * pass_.scale.x;
  int64_t peak = 0;
  // Where a band has several tiles, the others find there what the first one stored.
  for (size_t k = 0; k < live.last.size(); ++k) {
    if (heights_[height].bands > 1) {
      peak = std::max(peak, (one_tile ? live.largest[k] : live.largest.back()) + tiles.full[k]);
    }
    peak = std::max(peak, (one_tile ? live.last[k] : live.last.back()) + tiles.last[k]);
  }
  return peak;
}

PricedShapes::PricedShapes(const PassOption& option, std::vector<Place> places)
    : option_(&option), places_(std::move(places)), least_bytes_(option.least_bytes(places_)) {
  const double transfer = option.transfer_seconds(places_);
  shapes_.reserve(option.heights() * option.widths());
  for (uint32_t height = 0; height < option.heights(); ++height) {
    for (uint32_t width = 0; width < option.widths(); ++width) {
      // Transfers overlap with compute band by band: only those of one band stand alone.
      const double compute = option.seconds(height, width);
      const double seconds =
          std::max(compute, transfer) + std::min(compute, transfer) / double(option.bands(height));
      shapes_.push_back({seconds, -1, height, width});
    }
  }
  const auto faster = [](const Shape& a, const Shape& b) {
    return std::tie(a.seconds, a.height, a.width) < std::tie(b.seconds, b.height, b.width);
  };
  std::sort(shapes_.begin(), shapes_.end(), faster);
}

int64_t PricedShapes::peak_of(size_t i) {
  Shape& shape = shapes_[i];
  if (shape.peak_bytes >= 0) return shape.peak_bytes;
  const auto [live, is_new] = live_bytes_.try_emplace(shape.height);
  if (is_new) live->second = option_->live_bytes(shape.height, places_);
  return shape.peak_bytes = option_->peak_bytes(shape.height, shape.width, live->second);
}

const Shape* PricedShapes::fastest_within(int64_t limit_bytes) {
  if (least_bytes_ > limit_bytes) return nullptr;
  for (size_t i = 0; i < shapes_.size(); ++i) {
    if (peak_of(i) <= limit_bytes) return &shapes_[i];
  }
  return nullptr;
}

const Shape* PricedShapes::smallest() {
  return &*std::min_element(all().begin(), all().end(),
                            [](const Shape& a, const Shape& b) { return a.peak_bytes < b.peak_bytes; });
}

const std::vector<Shape>& PricedShapes::all() {
  for (size_t i = 0; i < shapes_.size(); ++i) peak_of(i);
  return shapes_;
}

}  // namespace headroom
