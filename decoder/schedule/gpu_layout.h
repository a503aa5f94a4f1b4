#pragma once

#include <cstdint>
#include <map>

#include "decoder/operations/convolution.h"
#include "decoder/plan/sizes.h"

// GPU memory of a decode except tiles and kept tensors. The planner predicts it from these sizes, and the
// runtime uses the same layout.
namespace headroom::gpu {

/// Unit of offsets and sizes in a memory reservation.
constexpr int64_t kOffsetUnit = 512;

/// Alignment of parameters and of statistics buffers.
constexpr int64_t kBoundary = 256;
constexpr int64_t on_boundary(int64_t bytes) {
  return (bytes + kBoundary - 1) / kBoundary * kBoundary;
}

// Bytes of one item's statistics and sums, as laid out in decoder/gpu/calls/calls.h.
constexpr int64_t kMomentsBytes = 24;  ///< count, mean and sum of squared differences of a group
constexpr int64_t kAffineBytes = 8;    ///< scale and shift of a channel, all scales before all shifts
constexpr int64_t kSumBytes = 8;       ///< one sum of keys and values
constexpr int64_t kPartialSumBytes = 4;

/// Number of sets of statistics: one, or one per frame.
int64_t statistics_sets(const Graph& graph, const Op& statistics, const Sizes& sizes);

/// The GPU computes moments frame by frame. It splits a frame's rows into segments. Each segment has its own
/// moments for every group, or for every kMomentChannels channels of a larger group. The number of segments
/// is at most kMostMomentSegments, divided by the number of such channel parts in a tensor.
constexpr int64_t kMostMomentSegments = 1584;
constexpr int64_t kMomentChannels = 128;
constexpr int64_t most_moment_segments(int64_t channels) {
  const int64_t segments = kMostMomentSegments / ((channels + kMomentChannels - 1) / kMomentChannels);
  return segments > 1 ? segments : 1;
}
/// Partial moments that one thread block merges, and bytes of a counter of blocks. Each group has a counter
/// for every such stretch of its partial moments, and one more.
constexpr int64_t kMergedMoments = 64;
constexpr int64_t kCounterBytes = 4;
/// Largest number of partial sums for sums of keys and values. Inputs are summed one after another.
constexpr int64_t kMostKeyValuePartials = 32;
/// Bytes of the largest buffer that any AddMoments or AddKeyValueSums call of the graph needs. All calls
/// share one buffer.
int64_t partial_bytes(const Graph& graph);
/// Bytes of the counters that any AddMoments call of the graph needs. All calls share them.
int64_t counter_bytes(const Graph& graph);

/// Offsets of statistics, of scales and shifts of norms, and of sums of keys and values. Each item's data
/// begins on a boundary. One buffer for partial sums and one for counters follow.
struct StateLayout {
  struct Buffer {
    int64_t offset = 0;      ///< offset of the first item
    int64_t item_bytes = 0;  ///< stride between items
    int64_t own_bytes = 0;   ///< part of item_bytes in use, without padding
  };
  std::map<TensorId, Buffer> statistics;  ///< moments, and sums of keys and values
  std::map<TensorId, Buffer> affines;     ///< scales and shifts, by the norm's output
  int64_t partial_offset = 0, counters_offset = 0;
  int64_t bytes = 0;
};
StateLayout state_layout(const Graph& graph, const Sizes& sizes);

/// Bytes of an operation's parameters, each aligned to kBoundary. Kernels are
/// [outputs][frames][rows][columns][inputs / groups] in the dtype; over upsampling there are four with 2 × 2
/// taps. Biases are in the dtype. Scales and biases of norms are in fp32.
int64_t parameter_bytes(const Graph& graph, const Op& op, Dtype dtype);

/// Largest number of values per item in a tile. Libraries index them with 32 bits, including the surroundings
/// of a tile.
constexpr int64_t kMostTileValues = int64_t{1} << 30;

/// Limits on cuDNN's workspace for one convolution. For small tiles it is at most the size of input and
/// output, but at least kLeastWorkspace. In fp32 cuDNN's fastest engines may change the layout of input,
/// kernel and output, so the kernel comes on top.
constexpr int64_t kConvolutionWorkspace = int64_t{32} << 20;
constexpr int64_t kLeastWorkspace = int64_t{1} << 20;
/// Limits on the buffer for the phases of a convolution over upsampling. Small frames are computed together,
/// as many as kPhasesTogether holds. If the phases of one frame exceed kMostPhases, they are computed a few
/// rows at a time. The buffer always holds kLeastPhaseRows rows.
constexpr int64_t kPhasesTogether = int64_t{32} << 20;
constexpr int64_t kMostPhases = int64_t{256} << 20;
constexpr int64_t kLeastPhaseRows = 8;

/// Workspace limit of one convolution of one item with this output extent. Over upsampling it includes the
/// buffer for the four phases. Strided convolutions run on our own kernels, which need none. Holds
/// wherever the tile lies.
int64_t convolution_workspace_bytes(const KernelShape& kernel, const Extent& output, Dtype dtype);

}  // namespace headroom::gpu
