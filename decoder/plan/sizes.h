#pragma once

#include "decoder/plan/plan.h"

namespace headroom {

/// How a device stores values and parameters.
struct Storage {
  DeviceKind device = DeviceKind::cpu;
  Dtype dtype = Dtype::fp32;
};
Storage storage_of(const Request& request);

/// Sizes shared by all passes of a plan.
struct Sizes {
  Extent latent;
  int64_t items = 1;  ///< batch items that go through a pass together
  Dtype dtype = Dtype::fp32;
  DeviceKind device = DeviceKind::cpu;
  Storage storage() const { return {device, dtype}; }
};
Sizes sizes_of(const Graph& graph, const Plan& plan);

/// Bytes of one row of one batch item, with all of its frames, as it is stored.
int64_t row_bytes(const Graph& graph, TensorId tensor, const Sizes& sizes);

}  // namespace headroom
