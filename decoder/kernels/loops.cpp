#include "decoder/kernels/loops.h"

#include <bit>

namespace headroom::kernels {
namespace {

/// e^x after Cephes' expf, relative error below 2e-7: x = n ln 2 + r, a polynomial in r, and the power of two
/// put into the exponent bits.
inline float exponential(float x) {
  x = x < -87.0f ? -87.0f : (x > 87.0f ? 87.0f : x);
  const float rounded =
      x * 1.44269504088896341f + 12582912.0f;  // 1.5 * 2^23 leaves the integer in the low bits
  const float n = rounded - 12582912.0f;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float mantissa = p * r * r + r + 1.0f;
  const int32_t exponent = static_cast<int32_t>(n) + 127;
  return mantissa * std::bit_cast<float>(exponent << 23);
}

void affine(const float* x, float* out, int64_t pixels, int64_t channels, const float* scale,
            const float* shift) {
  for (int64_t p = 0; p < pixels; ++p, x += channels, out += channels) {
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) out[c] = x[c] * scale[c] + shift[c];
  }
}

void affine_silu(const float* x, float* out, int64_t pixels, int64_t channels, const float* scale,
                 const float* shift) {
  for (int64_t p = 0; p < pixels; ++p, x += channels, out += channels) {
#pragma omp simd
    for (int64_t c = 0; c < channels; ++c) {
      const float v = x[c] * scale[c] + shift[c];
      out[c] = v / (1.0f + exponential(-v));
    }
  }
}

void sum_16(const float* x, int64_t pixels, int64_t channels, double* sum, double* square_sum) {
  constexpr int kLanes = 16;  // few enough for the accumulators to stay in registers
  double s[kLanes] = {}, q[kLanes] = {};
  for (int64_t p = 0; p < pixels; ++p, x += channels) {
    for (int c = 0; c < kLanes; ++c) {
      const double v = x[c];
      s[c] += v;
      q[c] += v * v;
    }
  }
  for (int c = 0; c < kLanes; ++c) {
    sum[c] += s[c];
    square_sum[c] += q[c];
  }
}

}  // namespace

extern const Loops HEADROOM_LOOPS;
const Loops HEADROOM_LOOPS{affine, affine_silu, sum_16};

}  // namespace headroom::kernels
