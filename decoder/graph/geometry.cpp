#include "decoder/graph/geometry.h"

namespace headroom {
Interval frames_at_scale(const Interval& frames, int32_t from_scale, int32_t to_scale) {
  const auto later_frames = [&](int64_t count) { return count * to_scale / from_scale; };
  const int64_t begin = frames.begin <= 0 ? 0 : later_frames(frames.begin - 1) + 1;
  if (frames.end <= 0) return {begin, 0};
  const bool cut = (frames.end - 1) * to_scale % from_scale != 0;
  return {begin, later_frames(frames.end - 1) + (cut ? 1 : 0) + 1};
}

Extent extent_of(const Tensor& tensor, const Extent& latent) {
  return extent_at(tensor.scale, latent);
}

Extent extent_at(const Axes<int32_t>& scale, const Extent& latent) {
  return {(latent.t - 1) * scale.t + 1, latent.y * scale.y, latent.x * scale.x};
}

Extent latent_at(const Axes<int32_t>& scale, const Extent& extent) {
  return {(extent.t - 1) / scale.t + 1, extent.y / scale.y, extent.x / scale.x};
}

const Axes<int32_t>& picture_scale(const Graph& graph) {
  return graph.tensor(graph.picture()).scale;
}

Extent extent_of_array(const std::vector<int64_t>& shape) {
  return {shape.size() == 5 ? shape[2] : 1, shape[shape.size() - 2], shape.back()};
}

int64_t bytes_of(const Tensor& tensor, const Extent& latent, int64_t batch, Dtype dtype) {
  // Statistics take two floats, or one sum in double.
  if (tensor.statistics) return batch * tensor.channels * 2 * int64_t{sizeof(float)};
  return batch * tensor.channels * positions(extent_of(tensor, latent)) * bytes_per_element(dtype);
}

}  // namespace headroom
