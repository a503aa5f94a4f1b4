#pragma once

#include <cstdint>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom::planner {

/// Tiles of a pass along one axis that are equally long in every step. Those at the picture's edges differ
/// from those between, where halos are cut off; most passes have two or three classes along an axis.
struct TileClass {
  std::vector<int64_t> lengths;  ///< positions that each step computes
  bool first = false;            ///< where positions are carried: the chunk or band that has none before it
  int64_t tiles = 0;
  bool alike(const TileClass& other) const { return first == other.first && lengths == other.lengths; }
};

/// A pass's tiles of rows or columns, `length` of its grid each, and its chunks of that many frames. Of rows
/// those that are decoded here. A step's frames and rows are those that it computes: without those that it
/// takes over from the chunk or band before.
std::vector<TileClass> row_classes(const Graph& graph, const Pass& pass, int64_t length, const Sizes& sizes);
std::vector<TileClass> column_classes(const Graph& graph, const Pass& pass, int64_t length,
                                      const Extent& latent);
std::vector<TileClass> chunk_classes(const Graph& graph, const Pass& pass, int64_t length,
                                     const Extent& latent);

}  // namespace headroom::planner
