#include "decoder/weights/kernel_product.h"

#include <algorithm>

#include "decoder/operations/operation.h"

namespace headroom {
namespace {

/// Reads the whole parameter if `all`, otherwise the part's values. Returns the part's values.
std::vector<float> values_of(const std::vector<Parameter>& parameters, const std::string& name,
                             const ModulePart& part, bool all, const ParameterSource& source) {
  const Parameter& parameter = *std::find_if(parameters.begin(), parameters.end(),
                                             [&](const Parameter& other) { return other.name == name; });
  const int64_t count = elements_of(parameter) / part.parts;
  const Interval own{part.part * count, (part.part + 1) * count};
  const Interval read = all ? Interval{0, elements_of(parameter)} : own;
  std::vector<float> values(static_cast<size_t>(read.length()));
  source(parameter, read, values.data());
  values.erase(values.begin(), values.begin() + (own.begin - read.begin));
  values.resize(static_cast<size_t>(count));
  return values;
}

}  // namespace

MultipliedKernels::MultipliedKernels(const Graph& graph, const Op& op, const ParameterSource& source)
    : channels_(output_channels(graph, op)),
      transposed_(op.convolution.product.transposes_second),
      scale_(op.convolution.scale) {
  const KernelProduct& product = op.convolution.product;
  const std::vector<Parameter> parameters = parameters_of(graph, op);
  const auto kernel = [&](const ModulePart& part) {
    return values_of(parameters, part.module + ".weight", part, false, source);
  };
  const auto bias = [&](const ModulePart& part) {
    return values_of(parameters, part.module + ".bias", part, true, source);
  };
  first_ = kernel(product.first);
  second_ = kernel(product.second);
  first_bias_ = bias(product.first);
  second_bias_ = bias(product.second);
  if (transposed_) std::fill(second_bias_.begin(), second_bias_.end(), 0.0f);
}

void MultipliedKernels::read_row(int64_t output, const Interval& inputs, float* out) const {
  std::vector<double> sums(static_cast<size_t>(inputs.length()), 0.0);
  for (int64_t between = 0; between < channels_; ++between) {
    const double factor = second(output, between);
    const float* row = first_.data() + between * channels_ + inputs.begin;
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += factor * double(row[i]);
  }
  for (size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<float>(sums[i] * scale_);
}

void MultipliedKernels::read_bias(float* out) const {
  for (int64_t output = 0; output < channels_; ++output) {
    double sum = second_bias_[static_cast<size_t>(output)];
    for (int64_t between = 0; between < channels_; ++between)
      sum += double(second(output, between)) * double(first_bias_[static_cast<size_t>(between)]);
    out[output] = static_cast<float>(sum * scale_);
  }
}

}  // namespace headroom
