#pragma once

#include <functional>
#include <vector>

#include "decoder/lowering/convolution.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// What the memory of a plan depends on beside the plan itself.
struct MemoryModel {
  /// Bytes taken from the pool while `op` runs on a tile of this extent, beside the tiles; `form` is that of
  /// the pass.
  std::function<int64_t(const Op& op, ConvolutionAlgorithm form, const Extent& output_tile,
                        const Sizes& sizes)>
      workspace_bytes;
  /// What libraries take outside the pool, in all.
  int64_t reserve_bytes = 0;
  /// And for every pixel of one frame of each item of a micro-batch: lists of blocks, sums of rows, what
  /// outputs collect.
  double reserve_bytes_per_pixel = 0;
  /// Blocks of materialised tensors are made about this large.
  int64_t block_bytes = int64_t{4} << 20;
};

/// Growth outside the pool that a plan allows for.
int64_t reserve_bytes(const Graph& graph, const Sizes& sizes, const MemoryModel& model);

/// What an allocation of this many bytes takes: on the CPU whole pages, or multiples of 64 bytes for small
/// ones, on CUDA multiples of 512.
int64_t allocated_bytes(int64_t bytes, DeviceKind device);

/// Of a tile: fp32 on the CPU, whatever the plan's dtype; on CUDA in it, as materialised tensors are. The
/// latent is fp32 on both.
int64_t tile_element_bytes(const Sizes& sizes);
/// Bytes of one tile of all items. On CUDA each item has an allocation of its own, so that it begins on a
/// boundary.
int64_t tile_bytes(const Graph& graph, TensorId tensor, const Extent& extent, const Sizes& sizes);

/// Keys and values that are stored in 16 bits are widened so many positions at a time.
constexpr int64_t kWidenedPositions = 2048;

/// Bytes of one micro-batch of the latent, which is there throughout.
int64_t latent_bytes(const Graph& graph, const Sizes& sizes);
/// What else is there throughout: on CUDA statistics and sums, what follows from them, and what they are
/// gathered in (decoder/lowering/gpu_memory.h). On the CPU they are small and outside the pool.
int64_t device_state_bytes(const Graph& graph, const Sizes& sizes);

/// Operations that the steps of a pass carry out, each once: their parameters are there once.
std::vector<OpId> operations_of(const Pass& pass);
std::vector<OpId> all_operations(const Graph& graph);

/// Bytes of an operation's parameters as the runtime lays them out. On the CPU in fp32 whatever the dtype:
/// kernels packed in this form, each parameter on a boundary of 64 bytes. On CUDA as
/// decoder/lowering/gpu_memory.h says.
int64_t weights_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm form, const Storage& storage);
/// Of all parameters where they stay on the device throughout: kernels are in the direct form.
int64_t resident_weights_bytes(const Graph& graph, const Storage& storage);
/// Of what a pass brings onto the device: its parameters, or, beside resident ones, its kernels in the
/// Winograd form.
int64_t pass_weights_bytes(const Graph& graph, const Pass& pass, ConvolutionAlgorithm form,
                           WeightResidency residency, const Storage& storage);
/// All parameters that are on the device during one pass.
int64_t device_weights_bytes(const Graph& graph, const Plan& plan, const Pass& pass);

/// Rows of a block so that blocks are equal and about `block_bytes` large.
int64_t block_rows(const Graph& graph, TensorId tensor, const Sizes& sizes, int64_t block_bytes);
/// Blocks per batch item.
int64_t block_count(const Graph& graph, const Materialised& materialised, const Sizes& sizes);

/// Bytes that the pool takes for one block of one batch item, and for all blocks of all items.
int64_t materialised_block_bytes(const Graph& graph, const Materialised& materialised, const Sizes& sizes);
int64_t materialised_bytes(const Graph& graph, const Materialised& materialised, const Sizes& sizes);

/// How the steps of a pass read the rows of one materialised tensor.
class RowReaders {
 public:
  RowReaders(const Graph& graph, const Pass& pass, TensorId tensor, const Sizes& sizes);
  /// The first row read for a tile that begins at this grid row; earlier rows are never needed again.
  /// The number of rows where no step reads the tensor.
  int64_t first_row(int64_t grid_row) const;
  /// One past the last row read for a tile that ends before this grid row; 0 where no step reads the tensor.
  int64_t last_row(int64_t grid_row) const;

 private:
  struct Reader {
    int32_t scale;   ///< of the tensor that the step makes
    int32_t before;  ///< halo of its tile
    int32_t after;
    int32_t factor;  ///< between its rows and the materialised tensor's
    int32_t reach;
    bool all;  ///< a barrier: every row, for every tile
  };
  std::vector<Reader> readers_;
  int32_t grid_scale_;
  int64_t rows_;
};

// A sweep moves over a materialised tensor band by band. On the device, blocks are taken as the writing pass
// first touches them and handed back as the last reading pass leaves them behind. Below the device they are
// there only while they are needed: a written block leaves for its place once all of its rows are there, and
// is on the device until the next band is done; a reading pass fetches the blocks of a band while the band
// before it runs.

/// Blocks of a materialised tensor, per batch item, that the sweep writes first in band `band` of the pass
/// that writes it.
Interval blocks_acquired(const Graph& graph, const Pass& pass, const Materialised& materialised, size_t band);
/// Blocks that its last pass hands back after band `band`.
Interval blocks_released(const RowReaders& readers, const Pass& pass, const Materialised& materialised,
                         int64_t block_count, size_t band);

/// Blocks whose last rows band `band` of the writing pass writes: they leave for a place below the device.
Interval blocks_completed(const Graph& graph, const Pass& pass, const Materialised& materialised,
                          size_t band);
/// Blocks that the steps of band `band` read.
Interval blocks_read(const RowReaders& readers, const Pass& pass, const Materialised& materialised,
                     size_t band);

/// Extent of the largest tile that a step makes, where grid tiles are `tile` long and start at its multiples.
Extent largest_tile(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                    const Sizes& sizes);

/// How a scratch file is cut: into slots of whole pages, each as large as the largest block that is ever
/// materialised there.
struct ScratchLayout {
  int64_t slot_bytes = 0;
  int64_t slots =
      0;  ///< the plan's block numbers there are all below this; 0 where nothing is materialised in a file
};
ScratchLayout scratch_layout(const Graph& graph, const Plan& plan);

/// Bytes of tiles, of what they carry from chunk to chunk, and of workspace, live while each step runs.
std::vector<int64_t> step_bytes(const Graph& graph, const Pass& pass, const Extent& tile, const Sizes& sizes,
                                const MemoryModel& model);

/// A materialised tensor as one pass sees it.
struct MaterialisedInPass {
  const Materialised* materialised = nullptr;
  bool written = false;  ///< this pass writes it
  bool leaves = false;   ///< this pass is the last to read it
};

/// The materialised tensors of a pass. What another one takes over in place does not leave.
std::vector<MaterialisedInPass> materialised_in(const Plan& plan, size_t pass);

/// Steps of a pass between two stores; of the tiles in it only the largest sum matters.
struct Segment {
  int64_t working_bytes = 0;
  TensorId stored{-1};  ///< the store that it begins with; -1 for the first
};
/// `working_bytes` as from step_bytes().
std::vector<Segment> segments_of(const Pass& pass, const std::vector<int64_t>& working_bytes);
/// The tiles of a pass's last band, which may be lower than the others.
Extent last_band_tile(const Extent& tile, int64_t grid_rows);

/// The blocks of one materialised tensor on the device while a sweep goes on, in bytes of all items.
class LiveBlocks {
 public:
  LiveBlocks(const Graph& graph, const Pass& pass, const MaterialisedInPass& entry, const Sizes& sizes);

  /// The same throughout the pass.
  bool steady() const { return !written_ && !leaves_ && !below_; }
  /// While those steps of a band run that come before the one that stores the tensor.
  int64_t before_store(size_t band) const;
  /// While those after it run.
  int64_t after_store(size_t band) const;

 private:
  int64_t first_in_flight(size_t band) const;

  const Graph& graph_;
  const Pass& pass_;
  const Materialised& materialised_;
  bool written_, leaves_, below_;
  int64_t count_;
  RowReaders readers_;
  int64_t block_bytes_;
};

/// The pass's peak of materialised blocks, tiles and workspace; without weights and reserve.
/// `pass.tiles` must be set; `tile` is the length of its tiles.
int64_t pass_peak_bytes(const Graph& graph, const Pass& pass,
                        const std::vector<MaterialisedInPass>& materialised, const Extent& tile,
                        const Sizes& sizes, const MemoryModel& model);

}  // namespace headroom
