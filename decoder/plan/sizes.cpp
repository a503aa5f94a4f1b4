#include "decoder/plan/sizes.h"

#include "decoder/graph/geometry.h"

namespace headroom {

Storage storage_of(const Request& request) {
  return {request.device, request.dtype};
}

Sizes sizes_of(const Graph& graph, const Plan& plan) {
  const Axes<int32_t> scale = graph.tensor(graph.output()).scale;
  return {{(plan.request.frames - 1) / scale.t + 1, plan.request.height_pixels / scale.y,
           plan.request.width_pixels / scale.x},
          plan.micro_batch,
          plan.request.dtype,
          plan.request.device};
}

int64_t row_bytes(const Graph& graph, TensorId id, const Sizes& sizes) {
  const Tensor& tensor = graph.tensor(id);
  const Extent extent = extent_of(tensor, sizes.latent);
  return extent.t * extent.x * tensor.channels * bytes_per_element(sizes.dtype);
}

}  // namespace headroom
