#include "decoder/recipe/tile_blender.h"

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

Request as_request(const PictureShape& shape) {
  Request request;
  request.width_pixels = shape.columns;
  request.height_pixels = shape.rows;
  request.frames = shape.frames;
  request.batch = shape.items;
  return request;
}

PictureShape shape_of_tile(const Recipe& recipe, size_t number, const PictureShape& whole) {
  const Request tile = request_of_tile(as_request(whole), recipe, tile_at(recipe, number));
  return {whole.items, whole.channels, tile.frames, tile.height_pixels, tile.width_pixels};
}

/// Where in its own positions a tile has those that the next one fades out. The last tile has none.
Interval handed_on(const std::vector<RecipeTile>& tiles, size_t tile) {
  return {tiles[tile].output.length(), span_of(tiles, tile)};
}

/// Weight of the tile that comes up, at a position of a fade, as diffusers rounds it.
struct FadeWeights {
  float before, now;
  FadeWeights(int64_t position, int64_t fade, int64_t step) {
    const double share = double(position / step) / double(fade / step);
    before = static_cast<float>(1 - share);
    now = static_cast<float>(share);
  }
};

void fade_out(const float* before, float* now, int64_t count, const FadeWeights& weights) {
  for (int64_t i = 0; i < count; ++i) now[i] = before[i] * weights.before + now[i] * weights.now;
}

}  // namespace

void Edge::take(const Edge& other) {
  reshape(other.extent_, other.channels_);
  std::copy_n(other.values_.begin(), std::min(values_.size(), other.values_.size()), values_.begin());
}

/// One tile on its way to the blender.
class TileBlender::Tile final : public PictureSink {
 public:
  Tile(TileBlender& blender, const PictureShape& shape) : PictureSink(shape), blender_(blender) {}

 private:
  void put(int64_t item, const Region& region, const float* pixels) override {
    blender_.put(item, region, pixels);
  }
  void complete() override { blender_.end(); }
  TileBlender& blender_;
};

TileBlender::TileBlender(const Recipe& recipe, PictureSink& output)
    : recipe_(recipe),
      output_(output),
      sizes_(kept_edges(recipe, output.shape().items, output.shape().channels)),
      below_(sizes_.below),
      left_(sizes_.side),
      right_(sizes_.side),
      before_(sizes_.frames),
      after_(sizes_.frames),
      row_(static_cast<size_t>(sizes_.row)) {
  for (const int64_t values : sizes_.above) above_.emplace_back(values);
}

TileBlender::~TileBlender() = default;

std::unique_ptr<PictureSink> TileBlender::tile(size_t number) {
  begin(number);
  return std::make_unique<Tile>(*this, shape_of_tile(recipe_, number, output_.shape()));
}

void TileBlender::begin(size_t number) {
  at_ = tile_at(recipe_, number);
  const auto& [t, y, x] = recipe_.tiles;
  const int64_t channels = output_.shape().channels;
  const Extent made{span_of(t, at_.t), span_of(y, at_.y), span_of(x, at_.x)};
  below_.reshape({made.t, handed_on(y, at_.y).length(), made.x}, channels);
  right_.reshape({made.t, made.y, handed_on(x, at_.x).length()}, channels);
  if (at_.y == 0 && at_.x == 0) {
    after_.reshape({handed_on(t, at_.t).length(), output_.shape().rows, output_.shape().columns}, channels);
  }
}

void TileBlender::put(int64_t item, const Region& region, const float* pixels) {
  const int64_t values = region.x.length() * output_.shape().channels;
  const int64_t skip = recipe_.tiles.t[at_.t].skip;
  for (int64_t t = region.t.begin; t < region.t.end; ++t) {
    for (int64_t y = region.y.begin; y < region.y.end; ++y, pixels += values) {
      if (t < skip) continue;
      std::copy_n(pixels, values, row_.begin());
      put_row(item, t - skip, y, region.x);
    }
  }
}

/// Part of a row of the tile, in its own positions behind those that are skipped: fades out the tiles above
/// and to the left, and keeps what the next ones fade out.
void TileBlender::put_row(int64_t item, int64_t t, int64_t y, const Interval& columns) {
  const int64_t channels = output_.shape().channels;
  const RecipeTile& rows_here = recipe_.tiles.y[at_.y];
  const RecipeTile& columns_here = recipe_.tiles.x[at_.x];
  const auto row_at = [&](int64_t x) { return row_.data() + (x - columns.begin) * channels; };
  if (y < rows_here.fade) {
    fade_out(above_[at_.x].at(item, t, y, columns.begin), row_.data(), columns.length() * channels,
             {y, rows_here.fade, recipe_.step});
  }
  for (int64_t x = columns.begin; x < std::min(columns.end, columns_here.fade); ++x)
    fade_out(left_.at(item, t, y, x), row_at(x), channels, {x, columns_here.fade, recipe_.step});

  const Interval lowest = handed_on(recipe_.tiles.y, at_.y);
  if (y >= lowest.begin && y < lowest.end) {
    std::copy_n(row_.begin(), columns.length() * channels,
                below_.at(item, t, y - lowest.begin, columns.begin));
  }
  const Interval last = handed_on(recipe_.tiles.x, at_.x);
  const Interval kept = intersect(columns, last);
  if (kept.length() > 0)
    std::copy_n(row_at(kept.begin), kept.length() * channels, right_.at(item, t, y, kept.begin - last.begin));

  const Interval own = intersect(columns, {0, columns_here.output.length()});
  if (y < rows_here.output.length() && own.length() > 0) {
    put_output(item, t, rows_here.output.begin + y,
               {columns_here.output.begin + own.begin, columns_here.output.begin + own.end});
  }
}

/// The same in the picture's own rows and columns: fades out the clip before, and keeps what the next one
/// fades out. The rest is final.
void TileBlender::put_output(int64_t item, int64_t t, int64_t y, const Interval& columns) {
  const int64_t values = columns.length() * output_.shape().channels;
  const RecipeTile& frames = recipe_.tiles.t[at_.t];
  if (t < frames.fade)
    fade_out(before_.at(item, t, y, columns.begin), row_.data(), values, {t, frames.fade, 1});
  const Interval last = handed_on(recipe_.tiles.t, at_.t);
  if (t >= last.begin && t < last.end)
    std::copy_n(row_.begin(), values, after_.at(item, t - last.begin, y, columns.begin));
  if (t >= frames.output.length()) return;
  if (recipe_.clamps) {
    for (int64_t i = 0; i < values; ++i) {
      float& value = row_[static_cast<size_t>(i)];
      value = std::clamp(value, -1.0f, 1.0f);
    }
  }
  const int64_t frame = frames.output.begin + t;
  output_.write(item, {{frame, frame + 1}, {y, y + 1}, columns}, row_.data());
}

void TileBlender::end() {
  above_[at_.x].take(below_);
  std::swap(left_, right_);
  const bool last_of_clip = at_.y + 1 == recipe_.tiles.y.size() && at_.x + 1 == recipe_.tiles.x.size();
  if (last_of_clip) std::swap(before_, after_);
}

}  // namespace headroom
