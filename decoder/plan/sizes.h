#pragma once

#include "decoder/plan/plan.h"

namespace headroom {

/// How a device stores values and parameters.
struct Storage {
  DeviceKind device = DeviceKind::cpu;
  Dtype dtype = Dtype::fp32;
};
Storage storage_of(const Request& request);

/// The model for this request: the graph of its direction, for its number of frames. Throws InputError like
/// for_direction().
Model model_for(Model model, const Request& request);
/// Extent of the latent of a request's picture or clip.
Extent latent_of(const Graph& graph, const Request& request);

/// Sizes shared by all passes of a plan.
struct Sizes {
  Extent latent;
  int64_t items = 1;  ///< batch items that go through a pass together
  Dtype dtype = Dtype::fp32;
  DeviceKind device = DeviceKind::cpu;
  std::optional<Interval> latent_rows{};  ///< latent rows that the plan's rank decodes; unset: all
  Tf32 tf32{};
  Storage storage() const { return {device, dtype}; }
};
Sizes sizes_of(const Graph& graph, const Plan& plan);

/// Rows of a tensor, or of a pass's grid, that this rank decodes. A latent row corresponds to whole rows at
/// every scale.
Interval own_rows(const Sizes& sizes, int32_t scale);
/// The extent of a tensor that this rank decodes.
Extent own_extent(const Tensor& tensor, const Sizes& sizes);

/// The rows of a tensor that this rank keeps: `rows`, or all if it is unset.
Interval kept_rows(const Graph& graph, TensorId tensor, const std::optional<Interval>& rows,
                   const Sizes& sizes);

/// Stored bytes of one row of one batch item, with all of its frames.
int64_t row_bytes(const Graph& graph, TensorId tensor, const Sizes& sizes);

/// Stored bytes of a kept tensor's blocks, of all batch items. Every block counts with its full height.
/// Without the rounding of allocations that kept_bytes() in decoder/schedule/blocks.h adds.
int64_t kept_bytes(const Graph& graph, const Plan& plan, const KeptTensor& kept);

}  // namespace headroom
