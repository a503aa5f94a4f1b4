#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoder/files/array.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/host_weights.h"
#include "decoder/interpreter/device.h"
#include "decoder/weights/memory_weights.h"
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

/// Operations whose parameters the host has to fold. All others are packed on a GPU.
std::vector<OpId> folded_operations(const Graph& graph);

/// Packs parameters on a GPU, from a model's own tensors in its memory. Packing takes a fraction of a
/// millisecond there, so nothing packed stays between decodes, except what the host has folded.
class CardWeights {
 public:
  /// Queues a call on the compute stream and handles its flag `not_finite`.
  using Run = std::function<void(gpu::Pack call)>;

  /// `folded` has the folded_operations(); null if there are none. All references must outlive this.
  CardWeights(gpu::Gpu& gpu, const Graph& graph, Dtype dtype, const CardParameters& parameters,
              const PinnedWeights* folded)
      : gpu_(gpu), graph_(graph), dtype_(dtype), parameters_(parameters), folded_(folded) {}

  Dtype dtype() const { return dtype_; }
  /// Queues the packing of the operations' parameters, one operation after another, at `to`. Throws
  /// InputError if one is missing.
  void pack(const std::vector<OpId>& operations, std::byte* to, const Run& run) const;
  /// Throws InputError naming the first parameter with a value that is not finite, if there is one.
  void require_finite(HostCopies& copies) const;

 private:
  using Lists = std::vector<gpu::Pack::List>;
  void add_convolution(const Op& op, std::byte* to, Lists& lists) const;
  void add_product(const Op& op, std::byte* to, Lists& lists) const;
  void add_norm(const Op& op, std::byte* to, Lists& lists) const;

  gpu::Gpu& gpu_;
  const Graph& graph_;
  const Dtype dtype_;
  const CardParameters& parameters_;
  const PinnedWeights* folded_;
};

}  // namespace headroom
