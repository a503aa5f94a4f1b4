#pragma once

#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

/// How a convolution is computed. Both are exact to rounding (docs/exactness.md).
enum class ConvolutionAlgorithm {
  direct,    ///< one matrix product per tap with the kernel as stored; no workspace
  winograd,  ///< minimal filtering for 3×3 kernels: a fraction of the multiplications, but a larger kernel
             ///< and a workspace
};
const char* name_of(ConvolutionAlgorithm algorithm);

/// The algorithms of a pass's convolutions. One algorithm for all, except that some may use the direct one
/// because their larger kernels do not fit.
struct ConvolutionAlgorithms {
  ConvolutionAlgorithms(ConvolutionAlgorithm of_all = ConvolutionAlgorithm::direct) : algorithm(of_all) {}
  ConvolutionAlgorithms(ConvolutionAlgorithm of_most, std::vector<OpId> direct_ones)
      : algorithm(of_most), direct(std::move(direct_ones)) {}

  ConvolutionAlgorithm of(OpId op) const {
    return contains(direct, op) ? ConvolutionAlgorithm::direct : algorithm;
  }
  friend auto operator<=>(const ConvolutionAlgorithms&, const ConvolutionAlgorithms&) = default;

  ConvolutionAlgorithm algorithm;
  std::vector<OpId> direct;  ///< convolutions that use the direct algorithm; empty if `algorithm` is direct
};

}  // namespace headroom
