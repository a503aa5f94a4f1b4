#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

#include "decoder/graph/model.h"
#include "decoder/weights/parameter_source.h"
#include "profiler/eager/recorded_decode.h"

namespace headroom::profiler {

/// How LibTorch holds values.
struct EagerOptions {
  c10::Device device{c10::DeviceType::CPU};
  Dtype dtype = Dtype::fp32;
  EagerLayout layout = EagerLayout::nchw;
};
at::ScalarType scalar_type(Dtype dtype);

/// A model's parameters as tensors of LibTorch, under the names that its own code gives them.
class EagerWeights {
 public:
  EagerWeights(const Graph& graph, const ParameterSource& source, const EagerOptions& options);

  const at::Tensor& operator[](const std::string& name) const { return tensors_.at(name); }
  /// An undefined tensor, which LibTorch takes for none, where there is no such parameter.
  at::Tensor find(const std::string& name) const;
  const std::map<std::string, at::Tensor>& all() const { return tensors_; }

 private:
  std::map<std::string, at::Tensor> tensors_;
};

}  // namespace headroom::profiler
