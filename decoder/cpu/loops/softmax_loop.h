#pragma once

#include "decoder/cpu/loops/elementwise_loop.h"

// Softmax loops, for use between the matrix products of attention. Included by loops.cpp alone.
namespace headroom::kernels {
namespace {

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
