#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/operations/convolution.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/blocks.h"
#include "decoder/schedule/storage.h"
#include "decoder/schedule/tiles.h"
#include "decoder/schedule/window.h"

namespace headroom {

/// For each step of a pass, the last step that reads its tile, or the step itself if none does.
std::vector<size_t> last_uses(const Pass& pass);

/// The steps during which a step's own tile is live. Empty if it makes no tile.
struct Lifetime {
  size_t begin = 0, end = 0;  ///< half-open
  bool contains(size_t step) const { return begin <= step && step < end; }
};
/// Lifetimes of all steps of a pass. If a step reuses its operand's tile, the tile belongs to the operand
/// while the step runs and to the step afterwards.
std::vector<Lifetime> tile_lifetimes(const Pass& pass);

/// Inputs of the memory prediction that the plan does not give.
struct MemoryModel {
  /// Device bytes of the workspace of `op` on a tile of this extent. `algorithm` is the algorithm of its
  /// pass.
  std::function<int64_t(const Op& op, ConvolutionAlgorithm algorithm, const Extent& output_tile,
                        const Sizes& sizes)>
      workspace_bytes;
  /// Additional bytes for attention on this tile if keys come block by block. Null: none.
  std::function<int64_t(const Op& op, const Extent& output_tile)> attention_state_bytes;
  /// Bytes that libraries take outside the pool, in total.
  int64_t reserve_bytes = 0;
  /// Additional bytes outside the pool per pixel of one frame of each item of a micro-batch: lists of blocks,
  /// sums of rows, collected outputs.
  double reserve_bytes_per_pixel = 0;
  /// Target size of blocks of kept tensors.
  int64_t block_bytes = int64_t{4} << 20;
};

/// Bytes of a request's picture if it stays in memory, otherwise 0.
int64_t picture_bytes(const Graph& graph, const Request& request);

/// Most bytes that operations allocate themselves: DeviceRecord::temporary_bytes, and a copy of the largest
/// kernel. 0 on devices whose operations get a workspace.
int64_t temporary_bytes(const Graph& graph, const DeviceRecord& device);

/// Bytes of a device's memory that a decode takes beside its reservation: the picture and temporary tensors.
int64_t bytes_beside_reservation(const Graph& graph, const Request& request);

/// Growth outside the pool that a plan allows for.
int64_t reserve_bytes(const Graph& graph, const Sizes& sizes, const MemoryModel& model);

/// Position of a band in its pass. It matters if tiles carry rows from the band before.
enum class BandPlace : uint8_t { first, further_down };

/// A grid tile in a band at this position.
struct BandTile {
  BandTile(const Extent& of_tile, BandPlace of_band = BandPlace::further_down)
      : extent(of_tile), place(of_band) {}
  Extent extent;
  BandPlace place;
};

/// Extent of the largest tile that a step makes, if grid tiles have this extent and start at its multiples.
Extent largest_tile(const Graph& graph, const Pass& pass, const Step& step, const BandTile& tile,
                    const Sizes& sizes);
/// The extent of the largest tile, from the tile_axes() of the step that makes it.
Extent largest_tile(const Axes<TileAxis>& axes, const BandTile& tile);
/// The extent of a pass's grid tiles. Tiles at the ends may be smaller.
Extent longest_tile(const Pass& pass);

/// Live memory while a step runs, without kept blocks, in bytes for all items.
struct StepBytes {
  int64_t tiles = 0;
  int64_t carried = 0;  ///< the last frames of tiles, which the next chunk of frames reads
  int64_t workspace = 0;
  int64_t total() const { return tiles + carried + workspace; }
};
/// StepBytes of each step of a pass, for a tile of this extent in the position that needs most. `staged` are
/// the keys and values in a lower tier.
std::vector<StepBytes> step_bytes(const Graph& graph, const Pass& pass, const BandTile& tile,
                                  const Sizes& sizes, const MemoryModel& model,
                                  const std::vector<TensorId>& staged = {});
/// Bytes that a step carries from one chunk to the next, or from one band to the next for all tiles of a
/// band. `tile` is the extent of a grid tile.
int64_t carried_bytes(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                      const Sizes& sizes);

/// Each step's fraction of the time of a tile of this extent, estimated from FLOPs. The fractions add up
/// to 1.
std::vector<double> shares_of_steps(const Graph& graph, const Pass& pass, const Extent& tile,
                                    const Sizes& sizes);

}  // namespace headroom
