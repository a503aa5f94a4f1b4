#pragma once

#include <vector>

#include "decoder/graph/graph.h"

// Regions that operations read, and sizes of tensors.
namespace headroom {

/// a / b rounded up, for a of at least 0.
constexpr int64_t ceil_divide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// The halo that an operation reads around an output position, in positions of input `input`. Upsampling
/// reads only the position that it repeats. A 3×3 convolution over upsampling reads one further.
Halo reach(const Op& op, size_t input);

/// How an operation pads its first input at the edges of the picture.
Edges edges_read(const Op& op);

/// True if an output may need any frame of the input. Then all frames must be present at once.
bool needs_all_frames(const Op& op);

/// Number of keys for each query in a frame of attention's result: all positions of attended_frames().
int64_t attended_keys(const Graph& graph, const Op& op, const Extent& latent, int64_t frame);
/// attended_keys() of the last frame. No other frame has more.
int64_t most_attended_keys(const Graph& graph, const Op& op, const Extent& latent);

/// Converts an interval of frames from one time scale to another. One scale must divide the other. The first
/// frame is one frame at every scale. Later frames multiply or merge by the ratio of the scales.
Interval frames_at_scale(const Interval& frames, int32_t from_scale, int32_t to_scale);

/// Source of one frame of depth_to_space's result: frame `source` of the input. Each position of that frame
/// becomes several pixels, numbered row by row. Channel c of pixel p comes from input channel
/// (c * channel_step + (first_pixel + p) * pixel_step) / repeats.
struct DepthFrame {
  int64_t source = 0;
  int64_t first_pixel = 0, pixel_step = 1, channel_step = 1, repeats = 1;
};
/// `inputs` and `outputs` are the channels of the input and of the result.
DepthFrame depth_frame(const Op& op, int64_t inputs, int64_t outputs, int64_t frame);

/// True if input `input` must be complete before any output exists.
bool is_barrier(const Op& op, size_t input);

/// The region of input `input` that an output region needs, not clipped to the picture. Not for barrier
/// inputs. If needs_all_frames() is true, the region leaves out the other frames.
Region needed_region(const Op& op, size_t input, const Region& output);

/// Positions of a tensor for a latent of this extent.
Extent extent_of(const Tensor& tensor, const Extent& latent);
/// Positions of a tensor with this scale.
Extent extent_at(const Axes<int32_t>& scale, const Extent& latent);
/// Bytes of a whole tensor: 64-bit throughout, since an 8192×8192 picture passes 2^31 elements.
int64_t bytes_of(const Tensor& tensor, const Extent& latent, int64_t batch, Dtype dtype);

/// Tensor whose positions measure an operation's work: its result, or the input of statistics.
TensorId measured_tensor(const Op& op);

/// For each tensor, the number of barriers and optional cut points on the longest path from the latent. One
/// pass can compute all tensors of one depth. A barrier forces a new pass for the next depth. A cut point
/// allows one.
std::vector<int32_t> barrier_depths(const Graph& graph);

}  // namespace headroom
