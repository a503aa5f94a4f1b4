#pragma once

#include <memory>
#include <vector>

#include "decoder/files/picture_sink.h"
#include "decoder/plan/recipe.h"
#include "decoder/recipe/kept_edges.h"

namespace headroom {

/// The last positions of a tile along one axis, until the next one has faded them out.
class Edge {
 public:
  explicit Edge(int64_t values) : values_(static_cast<size_t>(values)) {}
  /// What it holds from now on: at most the values that it was made with.
  void reshape(const Extent& extent, int64_t channels) {
    extent_ = extent;
    channels_ = channels;
  }
  float* at(int64_t item, int64_t t, int64_t y, int64_t x) {
    const int64_t position = ((item * extent_.t + t) * extent_.y + y) * extent_.x + x;
    return values_.data() + position * channels_;
  }
  /// Shape and values of another one, which has no more of them.
  void take(const Edge& other);

 private:
  Extent extent_;
  int64_t channels_ = 0;
  std::vector<float> values_;
};

/// Puts the tiles of a recipe together, row by row as they are decoded: each fades out its neighbours above,
/// to the left and before it, in this order, and what is final goes to the output. All memory is taken at
/// once (kept_edges()).
class TileBlender {
 public:
  /// Both must outlive it. The output has the shape of the whole request.
  TileBlender(const Recipe& recipe, PictureSink& output);
  ~TileBlender();
  TileBlender(const TileBlender&) = delete;
  TileBlender& operator=(const TileBlender&) = delete;

  /// What takes the tile of this number. Tiles come in order, each once the one before is finished.
  std::unique_ptr<PictureSink> tile(size_t number);

 private:
  class Tile;
  void begin(size_t number);
  void put(int64_t item, const Region& region, const float* pixels);
  void put_row(int64_t item, int64_t t, int64_t y, const Interval& columns);
  void put_output(int64_t item, int64_t t, int64_t y, const Interval& columns);
  void end();

  const Recipe& recipe_;
  PictureSink& output_;
  const KeptEdges sizes_;
  std::vector<Edge> above_;
  Edge below_, left_, right_, before_, after_;
  std::vector<float> row_;
  Axes<size_t> at_;  ///< the tile that is being decoded
};

}  // namespace headroom
