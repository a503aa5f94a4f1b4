#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "decoder/lowering/blocks.h"
#include "decoder/lowering/convolution.h"
#include "decoder/lowering/storage.h"
#include "decoder/lowering/weights_bytes.h"
#include "decoder/lowering/window.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// Inputs of the memory prediction that the plan does not give.
struct MemoryModel {
  /// Device bytes that `op` needs beside its tiles while it runs on a tile of this extent. `algorithm` is its
  /// pass's choice.
  std::function<int64_t(const Op& op, ConvolutionAlgorithm algorithm, const Extent& output_tile,
                        const Sizes& sizes)>
      workspace_bytes;
  /// More bytes for attention on such a tile when keys come block by block. Null: none.
  std::function<int64_t(const Op& op, const Extent& output_tile)> attention_state_bytes;
  /// Bytes that libraries take outside the pool, in total.
  int64_t reserve_bytes = 0;
  /// Further bytes outside the pool for every pixel of one frame of each item of a micro-batch: lists of
  /// blocks, sums of rows, collected outputs.
  double reserve_bytes_per_pixel = 0;
  /// Blocks of kept tensors are made about this large.
  int64_t block_bytes = int64_t{4} << 20;
};

/// Bytes of the picture of a request where it stays in memory, or else 0.
int64_t picture_bytes(const Graph& graph, const Request& request);

/// Growth outside the pool that a plan allows for.
int64_t reserve_bytes(const Graph& graph, const Sizes& sizes, const MemoryModel& model);

/// Place of a band in its pass. It makes a difference where tiles carry rows from the band before.
enum class BandPlace : uint8_t { first, further_down };

/// A tile of the grid in such a band.
struct BandTile {
  BandTile(const Extent& of_tile, BandPlace of_band = BandPlace::further_down)
      : extent(of_tile), place(of_band) {}
  Extent extent;
  BandPlace place;
};

/// Extent of the largest tile that a step makes, where grid tiles are `tile` long and start at its multiples.
Extent largest_tile(const Graph& graph, const Pass& pass, const Step& step, const BandTile& tile,
                    const Sizes& sizes);
/// The length of a pass's grid tiles. Those at the ends may be shorter.
Extent longest_tile(const Pass& pass);

/// Memory that is live while a step runs, without kept blocks, in bytes of all items.
struct StepBytes {
  int64_t tiles = 0;
  int64_t carried = 0;  ///< the last frames of tiles, which the next chunk of frames reads
  int64_t workspace = 0;
  int64_t total() const { return tiles + carried + workspace; }
};
/// For each step of a pass, on a tile of this extent that lies where it needs most. `staged` are the keys and
/// values that live below the device.
std::vector<StepBytes> step_bytes(const Graph& graph, const Pass& pass, const BandTile& tile,
                                  const Sizes& sizes, const MemoryModel& model,
                                  const std::vector<TensorId>& staged = {});
/// Bytes of what a step carries from one chunk to the next, or from one band to the next in all of its tiles;
/// of grid tiles of this extent.
int64_t carried_bytes(const Graph& graph, const Pass& pass, const Step& step, const Extent& tile,
                      const Sizes& sizes);

}  // namespace headroom
