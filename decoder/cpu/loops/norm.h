#pragma once

#include <cstdint>

#include "decoder/graph/graph.h"

namespace headroom::kernels {

/// out[p][c] = activation(x[p][c] * scale[c] + shift[c]) for `pixels` pixels of `channels` values each.
/// In place where out == x. SiLU and mish take their exponential from a polynomial with a relative error
/// below 2e-7 (Cephes' expf); gelu is the exact form with erf.
void norm_activate(const float* x, float* out, int64_t pixels, int64_t channels, const float* scale,
                   const float* shift, Activation activation);

/// The activation alone, in place.
void activate(float* values, int64_t count, Activation activation);

/// Adds each channel's values and squares over `pixels` pixels to sum[c] and square_sum[c].
/// Products and sums are taken in double, so that the variance survives the subtraction of the mean.
void channel_sums(const float* x, int64_t pixels, int64_t channels, double* sum, double* square_sum);

}  // namespace headroom::kernels
