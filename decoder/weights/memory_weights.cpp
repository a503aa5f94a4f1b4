#include "decoder/weights/memory_weights.h"

#include <utility>

#include "decoder/base/errors.h"

namespace headroom {
MemoryWeights::MemoryWeights(std::string origin, std::unordered_map<std::string, MemoryTensor> tensors)
    : tensors_(std::move(origin), std::move(tensors)) {}

NamedTensors<MemoryTensor>::Found MemoryWeights::require(const Parameter& parameter) const {
  NamedTensors<MemoryTensor>::Found found = tensors_.find(parameter);
  if (found.tensor.dtype == StoredDtype::other)
    throw InputError(found.where + ": dtype: expected fp32, fp16 or bf16");
  return found;
}

void MemoryWeights::read(const Parameter& parameter, const Interval& elements, float* out) const {
  const auto [tensor, where] = require(parameter);
  convert_to_float(tensor.dtype, tensor.data + elements.begin * stored_element_bytes(tensor.dtype),
                   elements.length(), out);
  check_finite(out, elements, where);
}

void MemoryWeights::require_all(const Graph& graph) const {
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) require(parameter);
  }
}

}  // namespace headroom
