#include "decoder/weights/random_weights.h"

#include <cmath>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/fnv_hash.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

constexpr double kGain = 1.0;
constexpr float kNormSpread = 0.25f;
constexpr float kBiasSpread = 0.1f;

/// The finaliser of splitmix64 (Steele, Lea and Flood 2014).
uint64_t splitmix64_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// Element i is offset + scale * u(i), u uniform in [-1, 1). With offset 1 and scale 1/4 the product is
/// exact, and with offset 0 the sum is, so that a fused multiply-add gives the same bits as two roundings.
void fill_uniform(const std::string& name, uint64_t seed, float offset, float scale, const Interval& range,
                  float* out) {
  const uint64_t key = splitmix64_mix(seed ^ fnv_hash(name));
  for (int64_t i = range.begin; i < range.end; ++i) {
    const uint64_t x = splitmix64_mix(key + (static_cast<uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u);
    // 24 bits: the conversion, the scaling and the subtraction are all exact.
    const float u = static_cast<float>(static_cast<int32_t>(x >> 40)) * 0x1p-23f - 1.0f;
    *out++ = offset + scale * u;
  }
}

int64_t elements(const std::string& name, const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 1 || __builtin_mul_overflow(count, extent, &count)) {
      throw InputError(printable(name) + ": expected a shape of positive extents, found " + printable(shape));
    }
  }
  if (shape.empty()) throw InputError(printable(name) + ": expected a shape, found none");
  return count;
}

}  // namespace

void fill_random(const Parameter& parameter, uint64_t seed, float* out) {
  fill_random(parameter, seed, {0, elements(parameter.name, parameter.shape)}, out);
}

void fill_random(const Parameter& parameter, uint64_t seed, const Interval& range, float* out) {
  const int64_t count = elements(parameter.name, parameter.shape);
  float offset = 0.0f;
  float scale = kBiasSpread;
  // Variances and deviations are positive.
  if (parameter.name.ends_with(".running_var") || parameter.name.ends_with(".gamma") ||
      parameter.name == "latents_std") {
    offset = 1.0f;
    scale = kNormSpread;
  } else if (parameter.name.ends_with(".weight")) {
    if (parameter.shape.size() == 1) {
      offset = 1.0f;
      scale = kNormSpread;
    } else {
      const double fan_in = static_cast<double>(count / parameter.shape[0]);
      scale = static_cast<float>(kGain * std::sqrt(3.0 / fan_in));
    }
  }
  fill_uniform(parameter.name, seed, offset, scale, intersect(range, {0, count}), out);
}

Array random_latent(std::vector<int64_t> shape, uint64_t seed) {
  const int64_t count = elements("latent", shape);
  Array latent{std::move(shape), std::vector<float>(static_cast<size_t>(count))};
  fill_uniform("latent", seed, 0.0f, static_cast<float>(std::sqrt(3.0)), {0, count}, latent.values.data());
  return latent;
}

}  // namespace headroom
