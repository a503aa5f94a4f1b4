#pragma once

namespace headroom {

/// The algorithm of a pass's convolutions. Both are exact to rounding (docs/exactness.md).
enum class ConvolutionAlgorithm {
  direct,    ///< one matrix product for each tap: the kernel as it is, no workspace
  winograd,  ///< 3×3 kernels by minimal filtering: a fraction of the products, a larger kernel, workspace
};
const char* name_of(ConvolutionAlgorithm algorithm);

}  // namespace headroom
