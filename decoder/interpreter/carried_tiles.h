#pragma once

#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/tiles.h"

namespace headroom {

/// Index of a tile in its pass: chunk of frames, band of rows, column.
using TilePlace = Axes<size_t>;

/// Keeps the last positions that each step computed. The next tile along the pass's carried axis
/// (decoder/schedule/tiles.h) begins with them:
///
///     time   from chunk to chunk of a column. A step's buffer is allocated after its first chunk and freed
///            after the column.
///     rows   from band to band. Each step has one buffer for the whole pass, with a part for each column.
class CarriedTiles {
 public:
  CarriedTiles(const Graph& graph, const Sizes& sizes, Device& device, EventSink& events)
      : graph_(graph), sizes_(sizes), device_(device), events_(events) {}

  /// Throws LimitExceeded.
  void begin_pass(const Pass& pass);
  void begin_tile(const TilePlace& place) { place_ = place; }
  /// Copies the previous tile's last positions into this step's tile, which covers `region`. Returns the part
  /// of the region that is still to be computed.
  Region take(size_t step, const Region& region, const MapView& tile);
  /// Saves the positions of a finished tile that the next tile begins with. What a later step adds onto a
  /// tile has no earlier positions, so these are final. Throws LimitExceeded.
  void save(size_t step, const MapView& made);
  void end_column();
  void end_pass() { buffers_.clear(); }

 private:
  TileAxis axis_of(const Step& step, Axis axis) const {
    return tile_axis(graph_, *pass_, step, step.tensor, axis, sizes_.latent);
  }
  size_t index_along_axis() const { return at(place_, axis_); }
  DeviceTile& buffer(size_t step) { return buffers_[place_.x][step]; }
  DeviceTile allocate(const Step& step, const Region& region);
  void allocate_for_all_columns(size_t step);

  const Graph& graph_;
  const Sizes& sizes_;
  Device& device_;
  EventSink& events_;
  const Pass* pass_ = nullptr;
  Axis axis_ = Axis::t;
  TilePlace place_;
  std::vector<std::vector<DeviceTile>> buffers_;  ///< by column and step
};

}  // namespace headroom
