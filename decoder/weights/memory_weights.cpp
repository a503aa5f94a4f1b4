#include "decoder/weights/memory_weights.h"

#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/printable.h"
#include "decoder/weights/read_stored.h"

namespace headroom {
namespace {

std::vector<std::string> names_of(const std::unordered_map<std::string, MemoryTensor>& tensors) {
  std::vector<std::string> names;
  names.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  return names;
}

}  // namespace

MemoryWeights::MemoryWeights(std::string origin, std::unordered_map<std::string, MemoryTensor> tensors)
    : origin_(std::move(origin)), tensors_(std::move(tensors)), names_(names_of(tensors_)) {}

const MemoryTensor& MemoryWeights::require(const Parameter& parameter, std::string& where) const {
  const std::optional<std::string> stored = names_.find(parameter.name);
  if (!stored) throw InputError(origin_ + ": " + printable(parameter.name) + ": no such tensor");
  where = origin_ + ": " + printable(*stored);
  const MemoryTensor& tensor = tensors_.at(*stored);
  if (tensor.dtype == StoredDtype::other) throw InputError(where + ": dtype: expected fp32, fp16 or bf16");
  check_stored_shape(parameter, tensor.shape, where);
  return tensor;
}

void MemoryWeights::read(const Parameter& parameter, const Interval& elements, float* out) const {
  std::string where;
  const MemoryTensor& tensor = require(parameter, where);
  convert_to_float(tensor.dtype, tensor.data + elements.begin * stored_element_bytes(tensor.dtype),
                   elements.length(), out);
  check_finite(out, elements, where);
}

void MemoryWeights::require_all(const Graph& graph) const {
  std::string where;
  for (const Op& op : graph.ops()) {
    for (const Parameter& parameter : parameters_of(graph, op)) require(parameter, where);
  }
}

}  // namespace headroom
