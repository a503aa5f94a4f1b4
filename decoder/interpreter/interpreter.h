#pragma once

#include <vector>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/events.h"
#include "decoder/interpreter/kept_blocks.h"
#include "decoder/interpreter/rank_exchange.h"
#include "decoder/interpreter/tile_steps.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/stream_frames.h"

namespace headroom {

/// The plan of the micro-batch that begins with this item. The last one of a batch may be shorter.
Plan plan_of_micro_batch(const Plan& plan, int64_t first_item);

/// Memory and time of one pass.
struct PassMeasurement {
  int64_t peak_bytes = 0;  ///< live bytes of the pool at their highest
  double seconds = 0;
};

/// Runs the passes of a plan for one micro-batch on a device. LimitExceeded names the pass, the layer, the
/// requested bytes and the live bytes. InputError names the layer whose value is not finite.
class Interpreter {
 public:
  /// `transfers` is null if the plan keeps every tensor on the device. `events` may be null. `link` is null
  /// for single-rank plans and for dry runs, which exchange nothing.
  Interpreter(const Model& model, const Plan& plan, Device& device, BlockTransfers* transfers,
              EventSink* events, const RankLink* link = nullptr);

  /// Decodes items [first, first + plan.micro_batch) of the latent, N×C×T×H×W or N×C×H×W, into the sink.
  void run(const ArrayView& latent, int64_t first_item, PictureSink& sink) {
    run_block(latent, first_item, sink, whole_clip(graph_, plan_));
  }
  /// Decodes one block of a stream; `latent` has the block's new frames. Frames that the next block reads
  /// stay in the device's memory until then. After an exception, no other block can run.
  void run_block(const ArrayView& latent, int64_t first_item, PictureSink& sink, const BlockFrames& frames);

  /// Writes or reads what stays between two blocks, in memory that the host can access. Throws InputError and
  /// LimitExceeded.
  void move_state(StreamState& state, const StreamFrames& frames);

  const std::vector<PassMeasurement>& measurements() const { return measurements_; }

 private:
  void run_pass(size_t number, PictureSink& sink);
  void run_bands(size_t number, PictureSink& sink);
  /// All steps of the pass on one tile.
  void run_tile(size_t number, int64_t tile, PictureSink& sink);
  /// Raises the pass's peak to the peak of the device's window.
  void note_peak(size_t number);
  void begin_statistics(size_t number);
  /// Checks that the inputs of all statistics were finite. Frees sums that no later pass reads.
  void end_statistics(size_t number);
  bool read_after(size_t number, TensorId tensor) const;

  const Graph& graph_;
  const Plan& plan_;
  Device& device_;
  EventSink& events_;
  Sizes sizes_;  ///< with the frames of the running block's clip
  int64_t first_item_ = 0;
  const BlockFrames* frames_ = nullptr;  ///< of the running block
  KeptBlocks kept_;
  RankExchange ranks_;
  TileSteps steps_;
  std::vector<PassMeasurement> measurements_;
  EventSink::StepPart running_;  ///< the step that runs
};

}  // namespace headroom
