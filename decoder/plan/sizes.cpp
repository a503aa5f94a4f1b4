#include "decoder/plan/sizes.h"

#include <utility>

#include "decoder/graph/geometry.h"

namespace headroom {

Storage storage_of(const Request& request) {
  return {request.device, request.dtype};
}

Model model_for(Model model, const Request& request) {
  return for_frames(for_direction(std::move(model), request.direction), request.frames);
}

Extent latent_of(const Graph& graph, const Request& request) {
  return latent_at(picture_scale(graph), {request.frames, request.height_pixels, request.width_pixels});
}

Sizes sizes_of(const Graph& graph, const Plan& plan) {
  return {latent_of(graph, plan.request),
          plan.micro_batch,
          plan.request.dtype,
          plan.request.device,
          plan.share.alone() ? std::nullopt : std::optional(plan.share.latent_rows),
          plan.request.tf32};
}

Interval own_rows(const Sizes& sizes, int32_t scale) {
  const Interval rows = sizes.latent_rows.value_or(Interval{0, sizes.latent.y});
  return {rows.begin * scale, rows.end * scale};
}

Extent own_extent(const Tensor& tensor, const Sizes& sizes) {
  Extent extent = extent_of(tensor, sizes.latent);
  extent.y = own_rows(sizes, tensor.scale.y).length();
  return extent;
}

Interval kept_rows(const Graph& graph, TensorId tensor, const std::optional<Interval>& rows,
                   const Sizes& sizes) {
  return rows.value_or(Interval{0, extent_of(graph.tensor(tensor), sizes.latent).y});
}

int64_t row_bytes(const Graph& graph, TensorId id, const Sizes& sizes) {
  const Tensor& tensor = graph.tensor(id);
  const Extent extent = extent_of(tensor, sizes.latent);
  return extent.t * extent.x * tensor.channels * bytes_per_element(sizes.dtype);
}

int64_t kept_bytes(const Graph& graph, const Plan& plan, const KeptTensor& kept) {
  const Sizes sizes = sizes_of(graph, plan);
  const int64_t rows = kept_rows(graph, kept.tensor, kept.rows, sizes).length();
  return sizes.items * ceil_divide(rows, kept.block_rows) * kept.block_rows *
         row_bytes(graph, kept.tensor, sizes);
}

}  // namespace headroom
