#pragma once

#include <algorithm>
#include <cmath>

#include "decoder/graph/graph.h"
#include "tests/support/random.h"

// Reference activations in double precision, for comparison with kernels.
namespace headroom::test {

inline double silu(double v) {
  return v / (1 + std::exp(-v));
}

inline double activated(Activation activation, double v) {
  switch (activation) {
    case Activation::none:
      return v;
    case Activation::silu:
      return silu(v);
    case Activation::relu:
      return std::max(v, 0.0);
    case Activation::gelu:
      return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
    case Activation::mish:
      return v * std::tanh(std::log1p(std::exp(v)));
    case Activation::clamp:
      return std::clamp(v, -1.0, 1.0);
    case Activation::soft_clamp:
      return 3 * std::tanh(v / 3);
    case Activation::to_unit:
      return (v + 1) / 2;
  }
  return NAN;
}

inline Activation any_activation(Random& random) {
  return random.pick<Activation>({Activation::none, Activation::silu, Activation::relu, Activation::gelu,
                                  Activation::mish, Activation::clamp, Activation::soft_clamp,
                                  Activation::to_unit});
}

}  // namespace headroom::test
