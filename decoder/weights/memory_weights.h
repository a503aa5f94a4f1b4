#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/families/tensor_names.h"
#include "decoder/files/stored_dtype.h"
#include "decoder/weights/parameter_source.h"
#include "decoder/weights/weight_files.h"

namespace headroom {

/// A model's parameters as tensors, each with a `shape`, under any of the names that TensorNames knows.
template <typename Tensor>
class NamedTensors {
 public:
  struct Found {
    const Tensor& tensor;
    std::string where;  ///< for errors
  };

  /// `origin` names the tensors in errors.
  NamedTensors(std::string origin, std::unordered_map<std::string, Tensor> tensors)
      : origin_(std::move(origin)), tensors_(std::move(tensors)), names_(stored_names()) {}

  /// Throws InputError if the parameter is missing or has another shape.
  Found find(const Parameter& parameter) const {
    const std::optional<std::string> stored = names_.find(parameter.name);
    if (!stored) throw InputError(origin_ + ": " + printable(parameter.name) + ": no such tensor");
    Found found{tensors_.at(*stored), origin_ + ": " + printable(*stored)};
    check_stored_shape(parameter, found.tensor.shape, found.where);
    return found;
  }

 private:
  std::vector<std::string> stored_names() const {
    std::vector<std::string> names;
    names.reserve(tensors_.size());
    for (const auto& [name, tensor] : tensors_) names.push_back(name);
    return names;
  }

  std::string origin_;
  std::unordered_map<std::string, Tensor> tensors_;
  TensorNames names_;
};

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
