#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/stream_memory.h"
#include "decoder/plan/plan.h"
#include "decoder/schedule/stream_frames.h"

namespace headroom {

/// Computes the offsets at which a stream's blocks run in a GPU's memory. Dry runs find them before the first
/// block:
///
///     weights | work of the running block | state of stream 1 | state of stream 2 | …
///
/// State keeps its offsets between blocks. Work gets new offsets for each block, as in a decode of the whole
/// clip. Blocks whose tiles have equal lengths share offsets.
class StreamLayouts {
 public:
  /// The requests of a micro-batch's block, without its state.
  struct Layout {
    MemoryRequests requests;
    Placement placement;
  };

  /// Runs streams of blocks of `block` latent frames on a device that only records, until blocks repeat, and
  /// ends them. The model must outlive it. Throws InputError if the plan does not keep all tensors on the
  /// device, and what StreamFrames throws.
  StreamLayouts(const Model& model, Plan plan, int64_t block);

  /// For an allocator of these sizes. The state is rounded up to its pages.
  StreamMemory memory(const ReservationSizes& sizes) const;
  /// The state of a micro-batch.
  const StateSlots& state(const Plan& micro_batch) const {
    return micro_batches_.at(micro_batch.micro_batch).state;
  }
  /// The layout of a micro-batch's block that comes after `before`. If no earlier dry run had a block of this
  /// shape, makes one now. Throws LimitExceeded if the block needs more memory than those of the
  /// constructor's dry runs.
  const Layout& of(const Plan& micro_batch, const StreamFrames& before, const BlockFrames& block);

 private:
  class DryStream;
  /// Lengths of all tiles and kept tensors in a block.
  using Shape = std::vector<int64_t>;
  struct MicroBatch {
    Plan plan;
    StateSlots state;
    std::map<Shape, Layout> layouts;
  };
  struct Blocks {
    int64_t first = 1, others = 1;
  };

  Shape shape_of(const StreamFrames& before, const BlockFrames& block) const;
  void run_clip(MicroBatch& own, const Blocks& blocks) const;
  void place_all();

  const Model& model_;
  const Plan plan_;
  const int64_t block_;
  std::map<int64_t, MicroBatch> micro_batches_;  ///< by number of items
  int64_t work_bytes_ = 0;
};

}  // namespace headroom
