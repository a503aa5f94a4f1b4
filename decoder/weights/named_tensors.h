#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/printable.h"
#include "decoder/families/tensor_names.h"
#include "decoder/weights/read_stored.h"

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

}  // namespace headroom
