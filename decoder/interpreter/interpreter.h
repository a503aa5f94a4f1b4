#pragma once

#include <vector>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/events.h"
#include "decoder/interpreter/kept_blocks.h"
#include "decoder/interpreter/rank_exchange.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// The plan of the micro-batch that begins with this item. The last one of a batch may be shorter.
Plan plan_of_micro_batch(const Plan& plan, int64_t first_item);

/// What one pass took.
struct PassMeasurement {
  int64_t peak_bytes = 0;  ///< live bytes of the pool at their highest
  double seconds = 0;
};

/// Runs the passes of a plan for one micro-batch on a device, in whose memory every tensor lies.
/// Throws LimitExceeded naming pass, layer, what was asked and what was live; DeviceError naming the layer
/// where a value is not finite.
class Interpreter {
 public:
  /// `transfers` is null where the plan keeps nothing below the device, `events` where nobody listens.
  /// `link` is null where the plan is for one rank alone, and where a dry run exchanges nothing.
  Interpreter(const Model& model, const Plan& plan, Device& device, BlockTransfers* transfers,
              EventSink* events, const RankLink* link = nullptr);

  /// Decodes items [first, first + plan.micro-batch) of the latent, N×C×T×H×W or N×C×H×W, into the sink.
  void run(const Array& latent, int64_t first_item, PictureSink& sink);

  const std::vector<PassMeasurement>& measurements() const { return measurements_; }

 private:
  void run_pass(size_t number, PictureSink& sink);
  void run_chunk(size_t number, int64_t tile, const Region& grid_tile, PictureSink& sink);
  /// Within a call of the step that runs.
  void tell_part(double of_call);
  /// Takes the peak of the device's window into that of the pass.
  void note_peak(size_t number);
  void carry_frames(const Pass& pass, const Step& step, const Region& grid_tile);
  void make_room_for_rows(size_t number);
  void carry_rows(const Pass& pass, const Step& step);
  /// What the tile of the chunk or band before leaves for this step's.
  DeviceTile& carried_by(size_t step) { return carried_[column_][step]; }
  void run_step(const Pass& pass, const Step& step, const Region& grid_tile, PictureSink& sink);
  void compute(const Step& step, const Region& region, const MapView& made);
  void convolve(const Step& step, const Region& region, const MapView& made);
  void attend(const Step& step, const Region& region, const MapView& made);
  void begin_statistics(const Pass& pass);
  /// Has it checked that what went in is finite, and drops sums that no later pass reads.
  void end_statistics(size_t number);
  bool read_after(size_t number, TensorId tensor) const;
  /// What a step reads, without statistics.
  std::vector<MapView> views_of(const Step& step);
  MapView view_of(const Operand& operand);
  DeviceTile& tile_of(const Operand& operand);
  void drop_dead_tiles(size_t step);
  Extent picture(TensorId tensor) const { return extent_of(graph_.tensor(tensor), sizes_.latent); }

  const Graph& graph_;
  const Plan& plan_;
  Device& device_;
  EventSink& events_;
  Sizes sizes_;
  int64_t first_item_ = 0;
  KeptBlocks kept_;
  RankExchange ranks_;
  std::vector<DeviceTile> tiles_;  ///< by step of the pass that runs
  /// By column of tiles and step: the last frames of the tile of the chunk before, or the last rows of that
  /// of the band before.
  std::vector<std::vector<DeviceTile>> carried_;
  size_t band_ = 0, column_ = 0;  ///< of tiles, of those that run
  std::vector<size_t> last_use_;  ///< by step: the last one that reads its tile
  std::vector<PassMeasurement> measurements_;
  EventSink::StepPart running_;                   ///< the step that runs
  int64_t calls_before_ = 0, calls_of_step_ = 1;  ///< of that step, where it takes several alike
};

}  // namespace headroom
