#pragma once

#include <cstdint>

#include "decoder/graph/graph.h"

namespace headroom::kernels {

// Values are computed in fp32 and stored in the plan's dtype. Rounding is to nearest, ties to even. Values
// above fp16's range become infinite. NaN stays NaN. Pointers need no alignment beyond that of their
// elements.

/// From storage to fp32. Copies if the storage is fp32.
void widen(Dtype stored, const void* from, float* to, int64_t count);
/// From fp32 to storage.
void narrow(Dtype stored, const float* from, void* to, int64_t count);
/// Rounds fp32 values to the result of storing and reading back.
void round_to(Dtype stored, float* values, int64_t count);

}  // namespace headroom::kernels
