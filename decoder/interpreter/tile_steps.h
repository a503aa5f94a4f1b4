#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "decoder/files/picture_sink.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/events.h"
#include "decoder/interpreter/kept_blocks.h"
#include "decoder/interpreter/stream_state.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/tiles.h"

namespace headroom {

/// A tile of its pass: band of rows, column, and the grid's frames, rows and columns.
struct TilePlace {
  size_t band = 0, column = 0;
  Region grid;
};

/// Keeps the last positions that each step computed. The next tile along the pass's carried axis
/// (decoder/schedule/tiles.h) begins with them:
///
///     time   from chunk to chunk of a column. A step's buffer is allocated after its first chunk and freed
///            after the clip's last. It stays between the blocks of a stream.
///     rows   from band to band. Each step has one buffer for the whole pass, with a part for each column.
class CarriedTiles {
 public:
  CarriedTiles(const Graph& graph, const Sizes& sizes, Device& device, EventSink& events)
      : graph_(graph), sizes_(sizes), device_(device), events_(events) {}

  /// Throws LimitExceeded.
  void begin_pass(size_t number, const Pass& pass);
  void begin_tile(const TilePlace& place);
  /// Copies the previous tile's last positions into this step's tile, which covers `region`. Returns the part
  /// of the region that is still to be computed.
  Region take(size_t step, const Region& region, const MapView& tile);
  /// Saves the positions of a finished tile that the next tile begins with. What a later step adds onto a
  /// tile has no earlier positions, so these are final. Throws LimitExceeded.
  void save(size_t step, const MapView& made);
  void end_column();
  void end_pass();
  /// Writes or reads what stays between two blocks of a stream. `done`: StreamFrames::done(). Throws
  /// InputError and LimitExceeded.
  void move_state(StreamState& state, const Plan& plan, const std::vector<int64_t>& done);

 private:
  void move_tiles(StreamState& state, const TilePlace& place);
  using OfSteps = std::vector<DeviceTile>;

  TileAxis axis_of(const Step& step, Axis axis) const {
    return tile_axis(graph_, *pass_, step, step.tensor, axis, sizes_.latent);
  }
  const Interval& along_axis() const { return at(place_.grid, axis_); }
  bool is_last() const {
    const Extent grid = extent_at(pass_->scale, sizes_.latent);
    return along_axis().end >= at(grid, axis_);
  }
  /// Rows are carried from band to band, so all bands share the buffers of a column.
  OfSteps& buffers(size_t column, size_t band);
  DeviceTile allocate(size_t step, const Region& region);
  void allocate_for_all_columns(size_t step);

  const Graph& graph_;
  const Sizes& sizes_;
  Device& device_;
  EventSink& events_;
  const Pass* pass_ = nullptr;
  size_t number_ = 0;
  Axis axis_ = Axis::t;
  TilePlace place_;
  OfSteps* own_ = nullptr;                                         ///< buffers of the tile's column
  std::map<std::tuple<size_t, size_t, size_t>, OfSteps> buffers_;  ///< by pass, band and column
};

/// Runs the steps of one pass on one tile after another. Allocates the tiles that steps write, calls the
/// device, and frees a tile after the last step that reads it.
class TileSteps {
 public:
  /// All references must outlive it.
  TileSteps(const Graph& graph, const Sizes& sizes, Device& device, EventSink& events, KeptBlocks& kept)
      : graph_(graph),
        sizes_(sizes),
        device_(device),
        events_(events),
        kept_(kept),
        carried_(graph, sizes, device, events) {}

  void begin_pass(size_t number, const Pass& pass);
  void begin_tile(const TilePlace& place);
  /// Runs one step on the tile. Emitted items are numbered from `first_item`. Throws LimitExceeded and
  /// DeviceError.
  void run(size_t step, int64_t first_item, PictureSink& sink);
  void end_column() { carried_.end_column(); }
  void end_pass() { carried_.end_pass(); }
  void move_state(StreamState& state, const Plan& plan, const std::vector<int64_t>& done) {
    carried_.move_state(state, plan, done);
  }

  /// Converts the progress of the current call into the progress of its step, which may take several calls.
  double share_done(double of_call) const;

 private:
  void make_tile(size_t slot, const Region& region);
  void compute(const Step& step, const Region& region, const MapView& made);
  void attend(StepCall call);
  void carry_out(const Step& step, const Region& region, int64_t first_item, PictureSink& sink);
  /// StepCall::inputs of a step that writes into `made`.
  std::vector<MapView> inputs_of(const Step& step, const MapView& made);
  MapView view_of(const Operand& operand);
  DeviceTile& tile_of(const Operand& operand);
  Extent picture(TensorId tensor) const { return extent_of(graph_.tensor(tensor), sizes_.latent); }

  const Graph& graph_;
  const Sizes& sizes_;  ///< of the running block
  Device& device_;
  EventSink& events_;
  KeptBlocks& kept_;
  CarriedTiles carried_;
  const Pass* pass_ = nullptr;
  Region grid_tile_;
  std::vector<DeviceTile> tiles_;                 ///< by step
  std::vector<size_t> last_use_;                  ///< by step: the last one that reads its tile
  int64_t calls_before_ = 0, calls_of_step_ = 1;  ///< device calls of the running step: done, and in all
};

}  // namespace headroom
