#pragma once

#include <vector>

#include "decoder/graph/graph.h"

namespace headroom {

/// How a convolution is computed. Both are exact to rounding (docs/exactness.md).
enum class ConvolutionAlgorithm {
  direct,    ///< one matrix product for each tap: the kernel as it is, no workspace
  winograd,  ///< 3×3 kernels by minimal filtering: a fraction of the products, a larger kernel, workspace
};
const char* name_of(ConvolutionAlgorithm algorithm);

/// The algorithms of a pass's convolutions: the same for all, but for some that are direct all the same,
/// since there is no room for their larger kernels.
struct ConvolutionAlgorithms {
  ConvolutionAlgorithms(ConvolutionAlgorithm of_all = ConvolutionAlgorithm::direct) : algorithm(of_all) {}
  ConvolutionAlgorithms(ConvolutionAlgorithm of_most, std::vector<OpId> direct_ones)
      : algorithm(of_most), direct(std::move(direct_ones)) {}

  ConvolutionAlgorithm of(OpId op) const {
    return contains(direct, op) ? ConvolutionAlgorithm::direct : algorithm;
  }
  friend auto operator<=>(const ConvolutionAlgorithms&, const ConvolutionAlgorithms&) = default;

  ConvolutionAlgorithm algorithm;
  std::vector<OpId> direct;  ///< empty where all are
};

}  // namespace headroom
