#include "profiler/libtorch/eager_weights.h"

#include <ATen/ops/empty.h>

#include "decoder/graph/parameters.h"

namespace headroom::profiler {

at::ScalarType scalar_type(Dtype dtype) {
  if (dtype == Dtype::fp32) return at::kFloat;
  return dtype == Dtype::bf16 ? at::kBFloat16 : at::kHalf;
}

EagerWeights::EagerWeights(const Graph& graph, const ParameterSource& source, const EagerOptions& options) {
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) {
      if (tensors_.count(parameter.name) > 0) continue;  // several operations have parts of it
      at::Tensor values = at::empty(parameter.shape, at::kFloat);
      source(parameter, {0, values.numel()}, values.data_ptr<float>());
      // Pictures' kernels follow the layout, as those of a module that is converted do.
      const bool last = options.layout == EagerLayout::channels_last && values.dim() == 4;
      values = values.to(at::TensorOptions().device(options.device).dtype(scalar_type(options.dtype)), false,
                         false, last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Preserve);
      tensors_.emplace(parameter.name, std::move(values));
    }
  }
}

at::Tensor EagerWeights::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? at::Tensor() : found->second;
}

}  // namespace headroom::profiler
