#pragma once

#include "decoder/cpu/loops/lanes.h"

// Loops over pixels of channels side by side. Included by loops.cpp alone.
namespace headroom::kernels {
namespace {

typedef int32_t IntegerLanes __attribute__((vector_size(kLanes * 4)));
constexpr int64_t kDoubles = kLanes / 2;
typedef double Doubles __attribute__((vector_size(kLanes * 4)));
typedef float FloatsOfDoubles __attribute__((vector_size(kLanes * 2), aligned(4), may_alias));

/// e^x after Cephes' expf, relative error below 2e-7: x = n ln 2 + r, a polynomial in r, and the power of two
/// put into the exponent bits. Arguments are clamped to ±87, so that neither e^x nor 1 / (1 + e^x) is
/// subnormal. Processors are a hundred times slower on subnormal numbers.
inline Lanes exponential(Lanes x) {
  constexpr float kMost = 87.0f;
  x = x > kMost ? spread(kMost) : x;
  x = x < -kMost ? spread(-kMost) : x;
  // 1.5 * 2^23 leaves the integer in the low bits.
  const Lanes rounded = x * 1.44269504088896341f + 12582912.0f;
  const Lanes n = rounded - 12582912.0f;
  const Lanes r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Lanes p = spread(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const Lanes mantissa = p * r * r + r + 1.0f;
  const IntegerLanes exponent = (__builtin_convertvector(n, IntegerLanes) + 127) << 23;
  return mantissa * (Lanes)exponent;  // the same bits
}

struct Identity {
  static Lanes of(const Lanes& v) { return v; }
};
struct Silu {
  static Lanes of(const Lanes& v) { return v / (1.0f + exponential(-v)); }
};

struct Relu {
  static Lanes of(const Lanes& v) { return v < 0.0f ? Lanes{} : v; }
};

/// In place where out == x.
template <class Activation>
void apply(const float* x, float* out, int64_t count) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(out + i, Activation::of(load(x + i)));
  if (i < count) store_part(out + i, Activation::of(load_part(x + i, count - i)), count - i);
}

template <class Activation>
void affine(const float* x, float* out, int64_t pixels, int64_t channels, const float* scale,
            const float* shift) {
  const int64_t whole = channels / kLanes * kLanes;
  for (int64_t p = 0; p < pixels; ++p, x += channels, out += channels) {
    for (int64_t c = 0; c < whole; c += kLanes)
      store(out + c, Activation::of(load(x + c) * load(scale + c) + load(shift + c)));
    if (const int64_t rest = channels - whole; rest > 0) {
      const Lanes value =
          load_part(x + whole, rest) * load_part(scale + whole, rest) + load_part(shift + whole, rest);
      store_part(out + whole, Activation::of(value), rest);
    }
  }
}

/// Sums of 16 channels over pixels, products and sums in double.
void sum_16(const float* x, int64_t pixels, int64_t channels, double* sum, double* square_sum) {
  constexpr int64_t kParts = 16 / kDoubles;
  Doubles s[kParts] = {}, q[kParts] = {};
  for (int64_t p = 0; p < pixels; ++p, x += channels) {
    for (int64_t part = 0; part < kParts; ++part) {
      // Not `auto`, which would drop the type's 4-byte alignment.
      const Doubles v =
          __builtin_convertvector(*reinterpret_cast<const FloatsOfDoubles*>(x + part * kDoubles), Doubles);
      s[part] += v;
      q[part] += v * v;
    }
  }
  for (int64_t part = 0; part < kParts; ++part) {
    for (int64_t c = 0; c < kDoubles; ++c) {
      sum[part * kDoubles + c] += s[part][c];
      square_sum[part * kDoubles + c] += q[part][c];
    }
  }
}

inline float sum_of(const Lanes& values) {
  float parts[kLanes], sum = 0;
  store(parts, values);
  for (float part : parts) sum += part;
  return sum;
}

/// Loads up to kLanes channels of a pixel and subtracts `mean`. Lanes past the last channel are zero.
inline Lanes centred_part(const float* x, int64_t count, const Lanes& mean) {
  const Lanes v = load_part(x, count) - mean;
  if (count >= kLanes) return v;
  float values[kLanes] = {};
  store_part(values, v, count);
  return load_part(values, kLanes);
}

inline float mean_of(const float* x, int64_t channels) {
  Lanes sums = {};
  for (int64_t c = 0; c < channels; c += kLanes) sums += load_part(x + c, channels - c);
  return sum_of(sums) / static_cast<float>(channels);
}

/// x / sqrt(mean of squares + epsilon) * weight + bias, over the channels of each pixel. If `centred`,
/// subtracts the pixel's mean from x first.
template <bool centred>
void norm_of_pixel(const float* x, float* out, int64_t pixels, int64_t channels, const float* weight,
                   const float* bias, float epsilon) {
  for (int64_t p = 0; p < pixels; ++p, x += channels, out += channels) {
    const Lanes mean = centred ? spread(mean_of(x, channels)) : Lanes{};
    const auto part = [&](int64_t c) {
      return centred ? centred_part(x + c, channels - c, mean) : load_part(x + c, channels - c);
    };
    Lanes squares[2] = {};
    for (int64_t c = 0, turn = 0; c < channels; c += kLanes, turn ^= 1) {
      const Lanes v = part(c);
      squares[turn] += v * v;
    }
    const float variance = sum_of(squares[0] + squares[1]) / static_cast<float>(channels);
    const Lanes factor = spread(1.0f / __builtin_sqrtf(variance + epsilon));
    for (int64_t c = 0; c < channels; c += kLanes) {
      const int64_t count = channels - c;
      store_part(out + c, part(c) * factor * load_part(weight + c, count) + load_part(bias + c, count),
                 count);
    }
  }
}

// Softmax loops, for use between the matrix products of attention.

inline float largest_lane(const Lanes& values) {
  float most = values[0];
  for (int64_t i = 1; i < kLanes; ++i) most = values[i] > most ? values[i] : most;
  return most;
}

inline float sum_of_lanes(const Lanes& values) {
  float sum = 0;
  for (int64_t i = 0; i < kLanes; ++i) sum += values[i];
  return sum;
}

/// The largest of `count` ≥ 1 values; NaN counts for nothing.
float largest(const float* x, int64_t count) {
  Lanes most = spread(x[0]);
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Lanes value = load(x + i);
    most = value > most ? value : most;
  }
  float result = largest_lane(most);
  for (; i < count; ++i) result = x[i] > result ? x[i] : result;
  return result;
}

/// x = e^(x - shift) in place; returns their sum. exponential() clamps its argument and never gives zero, so
/// values far below the shift are cleared here.
float exponentials(float* x, int64_t count, float shift) {
  constexpr float kNothing = -86.0f;
  Lanes sum = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Lanes distance = load(x + i) - shift;
    const Lanes weight = exponential(distance);
    const Lanes value = distance < kNothing ? Lanes{} : weight;
    store(x + i, value);
    sum += value;
  }
  float result = sum_of_lanes(sum);
  if (i < count) {
    const Lanes distance = load_part(x + i, count - i) - shift;
    const Lanes weight = exponential(distance);
    const Lanes value = distance < kNothing ? Lanes{} : weight;
    store_part(x + i, value, count - i);
    for (int64_t k = 0; k < count - i; ++k) result += x[i + k];
  }
  return result;
}

/// x = x * factor, in place.
void scale(float* x, int64_t count, float factor) {
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(x + i, load(x + i) * factor);
  for (; i < count; ++i) x[i] *= factor;
}

}  // namespace
}  // namespace headroom::kernels
