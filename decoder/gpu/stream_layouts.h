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

/// Where a stream's blocks lie in a GPU's memory. Dry runs find the offsets before the first block:
///
///     weights | work of the running block | state of stream 1 | state of stream 2 | …
///
/// State has a fixed offset for each place, so that it holds between blocks. All else is placed block by
/// block, as for a decode of the whole clip. Blocks whose tiles have equal lengths share offsets.
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
  const StateSlots& state(const Plan& micro_batch) const { return items_.at(micro_batch.micro_batch).state; }
  /// The layout of a block of a micro-batch that comes after `before`. Makes a dry run of a block that was
  /// not counted: of another size, or of other frames at the clip's ends. Throws LimitExceeded if it needs
  /// more memory than the counted ones.
  const Layout& of(const Plan& micro_batch, const StreamFrames& before, const BlockFrames& block);

 private:
  class DryStream;
  /// Lengths of all tiles and kept tensors in a block.
  using Shape = std::vector<int64_t>;
  struct OfItems {  ///< a micro-batch of a number of items
    Plan plan;
    StateSlots state;
    std::map<Shape, Layout> layouts;
  };
  struct Blocks {
    int64_t first = 1, others = 1;
  };

  Shape shape_of(const StreamFrames& before, const BlockFrames& block) const;
  void run_clip(OfItems& own, const Blocks& blocks) const;
  void place_all();

  const Model& model_;
  const Plan plan_;
  const int64_t block_;
  std::map<int64_t, OfItems> items_;
  int64_t work_bytes_ = 0;
};

}  // namespace headroom
