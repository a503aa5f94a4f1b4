#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Kernel and bias of a convolution that replaces two modules (KernelProduct). Sums are in double, and each
/// result is rounded to fp32 once. Reading is const and may happen on several threads at once.
class MultipliedKernels {
 public:
  /// Reads all parameters of the operation, including a bias without effect, so that they are checked and
  /// hashed. Throws what the source throws.
  MultipliedKernels(const Graph& graph, const Op& op, const ParameterSource& source);

  /// The weights of one output for some inputs. Reading all outputs costs one matrix product, whether inputs
  /// are read together or in parts.
  void read_row(int64_t output, const Interval& inputs, float* out) const;
  void read_bias(float* out) const;

 private:
  float second(int64_t output, int64_t between) const {
    return second_[static_cast<size_t>(transposed_ ? between * channels_ + output
                                                   : output * channels_ + between)];
  }

  int64_t channels_;
  bool transposed_;
  double scale_;
  std::vector<float> first_, second_;            ///< kernels [output][input]
  std::vector<float> first_bias_, second_bias_;  ///< the second one is zero if it has no effect
};

}  // namespace headroom
