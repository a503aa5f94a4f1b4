#pragma once

#include <vector>

#include "decoder/graph/graph.h"

// Where operations read, and how large tensors are.
namespace headroom {

/// a / b rounded up, for a of at least 0.
constexpr int64_t ceil_divide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// How far beyond an output position an operation reads in input `input`, in that input's own positions.
/// Upsampling reads no further than the position it repeats; behind it a convolution of 3 reads one further.
Halo reach(const Op& op, size_t input);

/// True where every output needs frames of the input that come later than its own: all of them must be there
/// at once.
bool needs_all_frames(const Op& op);

/// The frames of a tensor that belong to these frames of another one whose time scale is a multiple or a
/// divisor of its own: the first frame is the other's first, each later one stands for as many as the scales
/// say.
Interval frames_at_scale(const Interval& frames, int32_t from_scale, int32_t to_scale);

/// The frame of depth_to_space's input that a frame of its result is made of, and which of the frames that
/// the channels hold it is: of the first one the last.
struct DepthFrame {
  int64_t source = 0, in_depth = 0;
};
DepthFrame depth_frame(const Op& op, int64_t frame);

/// True where input `input` is needed over its whole extent before any output exists.
bool is_barrier(const Op& op, size_t input);

/// The region of input `input` that an output region needs, not clipped to the picture.
/// Not for barrier inputs. Frames ahead are left out: needs_all_frames() says where there are some.
Region needed_region(const Op& op, size_t input, const Region& output);

/// Positions of a tensor for a latent of this extent.
Extent extent_of(const Tensor& tensor, const Extent& latent);
/// The same at a scale.
Extent extent_at(const Axes<int32_t>& scale, const Extent& latent);
/// Bytes of a whole tensor: 64-bit throughout, since an 8192×8192 picture passes 2^31 elements.
int64_t bytes_of(const Tensor& tensor, const Extent& latent, int64_t batch, Dtype dtype);

/// What an operation's work is counted over: its result, or what it takes statistics of.
TensorId measured_tensor(const Op& op);

/// For each tensor, the number of barriers and of optional cut points on the longest path from the
/// latent to it. Tensors of one depth can be computed in one pass; the next depth needs a pass of its own
/// where a barrier lies between, and may have one otherwise.
std::vector<int32_t> barrier_depths(const Graph& graph);

}  // namespace headroom
