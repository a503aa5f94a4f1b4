#pragma once

#include <functional>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/transfers/card_parameters.h"
#include "decoder/gpu/transfers/pinned_weights.h"

namespace headroom {

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
