#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoder/files/stored_dtype.h"
#include "decoder/weights/named_tensors.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// A tensor in memory that the caller owns, in C order.
struct MemoryTensor {
  StoredDtype dtype = StoredDtype::other;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
};

/// The weights of a model as tensors in memory, under any of the names that TensorNames knows. Reading is
/// const and may happen on several threads at once. The tensors must outlive all reads.
class MemoryWeights {
 public:
  /// `origin` names them in errors.
  MemoryWeights(std::string origin, std::unordered_map<std::string, MemoryTensor> tensors);

  /// Like WeightFiles::read().
  void read(const Parameter& parameter, const Interval& elements, float* out) const;
  /// Throws InputError naming the first parameter of the graph that is missing or has another shape.
  void require_all(const Graph& graph) const;

 private:
  NamedTensors<MemoryTensor>::Found require(const Parameter& parameter) const;

  NamedTensors<MemoryTensor> tensors_;
};

}  // namespace headroom
