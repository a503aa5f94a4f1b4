#pragma once

#include <vector>

#include "decoder/files/picture_sink.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/carried_tiles.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/events.h"
#include "decoder/interpreter/kept_blocks.h"

namespace headroom {

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

  void begin_pass(const Pass& pass);
  void begin_tile(const TilePlace& place);
  /// Runs one step on the tile. Emitted items are numbered from `first_item`. Throws LimitExceeded and
  /// DeviceError.
  void run(size_t step, int64_t first_item, PictureSink& sink);
  void end_column() { carried_.end_column(); }
  void end_pass() { carried_.end_pass(); }

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
  const Sizes& sizes_;
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
