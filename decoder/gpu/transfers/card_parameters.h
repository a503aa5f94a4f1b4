#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/interpreter/host_copies.h"
#include "decoder/weights/named_tensors.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// A model's parameters in a GPU's memory, under any of the names that TensorNames knows. The caller holds
/// the memory.
class CardParameters {
 public:
  /// `origin` names them in errors.
  CardParameters(std::string origin, std::unordered_map<std::string, DeviceArray> arrays);

  /// Throws InputError if the parameter is missing or has another shape.
  const DeviceArray& of(const Parameter& parameter) const;
  /// Throws like of() for the first parameter of the graph that is missing or has another shape.
  void require_all(const Graph& graph) const;
  /// Reads parameters from the GPU. Throws InputError for a value that is not finite. Both references must
  /// outlive the source. Not thread-safe.
  ParameterSource source(HostCopies& copies) const;

 private:
  NamedTensors<DeviceArray> arrays_;
};

}  // namespace headroom
