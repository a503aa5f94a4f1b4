#pragma once

#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/errors.h"

namespace headroom {

/// A card does not have what a plan takes of its memory: others use it. A smaller plan may run beside them.
class OutOfGpuMemory : public DoesNotFit {
 public:
  /// `bytes` is the size that the card refused.
  OutOfGpuMemory(const gpu::Gpu& gpu, int64_t bytes);
};

/// The largest limit for a plan that is to run beside whoever uses the card now: what is free, less 512 MiB
/// for what libraries take when they first run. 0 where that is nothing.
int64_t limit_on_card(const gpu::Gpu& gpu);

}  // namespace headroom
