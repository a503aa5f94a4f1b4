#include "decoder/cpu/loops/norm.h"

#include <algorithm>
#include <cmath>

#include "decoder/cpu/loops/loops.h"

namespace headroom::kernels {
namespace {

void activate_slowly(float* out, int64_t count, Activation activation) {
  for (int64_t i = 0; i < count; ++i) {
    const float v = out[i];
    switch (activation) {
      case Activation::gelu:
        out[i] = 0.5f * v * (1.0f + std::erf(v * 0.70710678118654752f));
        break;
      case Activation::mish:
        out[i] = v * std::tanh(v > 20 ? v : std::log1p(std::exp(v)));
        break;
      case Activation::clamp:
        out[i] = v < -1 ? -1 : v > 1 ? 1 : v;
        break;
      case Activation::soft_clamp:
        out[i] = std::tanh(v / 3) * 3;
        break;
      case Activation::to_unit:
        out[i] = (v + 1) / 2;
        break;
      case Activation::none:
      case Activation::silu:
      case Activation::relu:
        break;
    }
  }
}

}  // namespace

void norm_activate(const float* x, float* out, int64_t pixels, int64_t channels, const float* scale,
                   const float* shift, Activation activation) {
  if (activation == Activation::silu) {
    loops().affine_silu(x, out, pixels, channels, scale, shift);
    return;
  }
  loops().affine(x, out, pixels, channels, scale, shift);
  activate(out, pixels * channels, activation);
}

void activate(float* values, int64_t count, Activation activation) {
  switch (activation) {
    case Activation::none:
      return;
    case Activation::silu:
      return loops().silu(values, values, count);
    case Activation::relu:
      return loops().relu(values, values, count);
    case Activation::gelu:
    case Activation::mish:
    case Activation::clamp:
    case Activation::soft_clamp:
    case Activation::to_unit:
      return activate_slowly(values, count, activation);
  }
}

void channel_sums(const float* x, int64_t pixels, int64_t channels, double* sum, double* square_sum) {
  constexpr int64_t kLanes = 16;
  constexpr int64_t kRunPixels = 8;  // of one run: they stay in the first-level cache
  const int64_t whole = channels / kLanes * kLanes;
  for (int64_t begin = 0; begin < pixels; begin += kRunPixels) {
    const int64_t run = std::min(kRunPixels, pixels - begin);
    const float* start = x + begin * channels;
    for (int64_t c = 0; c < whole; c += kLanes)
      loops().sum_16(start + c, run, channels, sum + c, square_sum + c);
    for (int64_t p = 0; p < run && whole < channels; ++p) {
      for (int64_t c = whole; c < channels; ++c) {
        const double v = start[p * channels + c];
        sum[c] += v;
        square_sum[c] += v * v;
      }
    }
  }
}

}  // namespace headroom::kernels
