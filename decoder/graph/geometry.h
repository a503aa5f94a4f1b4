#pragma once

#include "decoder/graph/graph.h"

// Sizes of tensors.
namespace headroom {

/// a / b rounded up, for a of at least 0.
constexpr int64_t ceil_divide(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

/// Converts an interval of frames from one time scale to another. One scale must divide the other. The first
/// frame is one frame at every scale. Later frames multiply or merge by the ratio of the scales.
Interval frames_at_scale(const Interval& frames, int32_t from_scale, int32_t to_scale);

/// Positions of a tensor for a latent of this extent.
Extent extent_of(const Tensor& tensor, const Extent& latent);
/// Positions of a tensor with this scale.
Extent extent_at(const Axes<int32_t>& scale, const Extent& latent);
/// The latent's extent for a tensor of this scale and extent. Inverse of extent_at().
Extent latent_at(const Axes<int32_t>& scale, const Extent& extent);
/// Pixels and frames of one position of the latent, in a decode and in an encode.
const Axes<int32_t>& picture_scale(const Graph& graph);
/// Positions of an array N×C×H×W or N×C×T×H×W.
Extent extent_of_array(const std::vector<int64_t>& shape);
/// Bytes of a whole tensor: 64-bit throughout, since an 8192×8192 picture passes 2^31 elements.
int64_t bytes_of(const Tensor& tensor, const Extent& latent, int64_t batch, Dtype dtype);

}  // namespace headroom
