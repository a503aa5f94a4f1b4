#pragma once

#include <cstdint>

namespace headroom::kernels {

/// Adds each channel's values and squares over `pixels` pixels to sum[c] and square_sum[c].
/// Products and sums are taken in double, so that the variance survives the subtraction of the mean.
void channel_sums(const float* x, int64_t pixels, int64_t channels, double* sum, double* square_sum);

}  // namespace headroom::kernels
