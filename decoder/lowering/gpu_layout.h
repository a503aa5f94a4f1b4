#pragma once

#include <cstdint>
#include <map>

#include "decoder/lowering/convolution.h"
#include "decoder/plan/sizes.h"

// GPU memory of a decode beside its tiles and kept tensors. The planner counts with it, and the runtime lays
// its memory out by it.
namespace headroom::gpu {

/// Offsets in a reservation are multiples of this, and so are the sizes of what lies there.
constexpr int64_t kOffsetUnit = 512;

/// Parameters and what belongs to statistics begin at multiples of this.
constexpr int64_t kBoundary = 256;
constexpr int64_t on_boundary(int64_t bytes) {
  return (bytes + kBoundary - 1) / kBoundary * kBoundary;
}

// Bytes of one item's statistics and sums, as decoder/gpu/calls/calls.h has them.
constexpr int64_t kMomentsBytes = 24;  ///< count, mean and sum of squared differences of a group
constexpr int64_t kAffineBytes = 8;    ///< scale and shift of a channel, all scales before all shifts
constexpr int64_t kSumBytes = 8;       ///< of keys and values
constexpr int64_t kPartialSumBytes = 4;

/// Sets of statistics: one, or one for each frame.
int64_t statistics_sets(const Graph& graph, const Op& statistics, const Sizes& sizes);

/// Moments are taken frame by frame. Each frame's rows are cut into segments, each with moments of its own
/// for every group, of a group for every so many of its channels. There are so many segments at the most,
/// divided by how often a tensor has so many channels.
constexpr int64_t kMostMomentSegments = 1584;
constexpr int64_t kMomentChannels = 128;
constexpr int64_t most_moment_segments(int64_t channels) {
  const int64_t segments = kMostMomentSegments / ((channels + kMomentChannels - 1) / kMomentChannels);
  return segments > 1 ? segments : 1;
}
/// Sums of keys and values are gathered in so many partial sums at the most, one input after the other.
constexpr int64_t kMostKeyValuePartials = 32;
/// Bytes of the largest buffer that any AddMoments or AddKeyValueSums of the graph needs. All
/// calls share one.
int64_t partial_bytes(const Graph& graph);

/// Offsets of statistics, of scales and shifts of norms, and of sums of keys and values. Each item's begin on
/// a boundary. One buffer for partial sums follows.
struct StateLayout {
  struct Buffer {
    int64_t offset = 0;      ///< of the first item
    int64_t item_bytes = 0;  ///< from one item to the next
    int64_t own_bytes = 0;   ///< of them, without what fills up to the boundary
  };
  std::map<TensorId, Buffer> statistics;  ///< moments, and sums of keys and values
  std::map<TensorId, Buffer> affines;     ///< scales and shifts, by what the norm makes
  int64_t partial_offset = 0;
  int64_t bytes = 0;
};
StateLayout state_layout(const Graph& graph, const Sizes& sizes);

/// Bytes of an operation's parameters, each on a boundary: kernels [outputs][frames][rows][columns][inputs /
/// groups] in the dtype, of one over upsampling four of 2 × 2 taps, biases in the dtype, scales and biases of
/// norms in fp32.
int64_t parameter_bytes(const Graph& graph, const Op& op, Dtype dtype);

/// Values of one item in a tile: libraries count them in 32 bits, and what lies around them too.
constexpr int64_t kMostTileValues = int64_t{1} << 30;

/// Granted to cuDNN for one convolution; where tiles are small, no more than input and output take, but at
/// least the second.
constexpr int64_t kConvolutionWorkspace = int64_t{32} << 20;
constexpr int64_t kLeastWorkspace = int64_t{1} << 20;
/// Granted for the phases of one over upsampling, which is computed some rows at a time where all of a
/// frame's would take more; but enough for so many rows of them.
constexpr int64_t kMostPhases = int64_t{256} << 20;
constexpr int64_t kLeastPhaseRows = 8;

/// Granted to one convolution of one item whose output tile has this extent; over upsampling with what the
/// four phases of a frame take before they are put into it, wherever the tile lies.
int64_t convolution_workspace_bytes(const KernelShape& kernel, const Extent& output, Dtype dtype);

}  // namespace headroom::gpu
