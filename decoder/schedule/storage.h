#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// Sizes of allocations, tiles and parameters on one kind of device.
class StorageRules {
 public:
  virtual ~StorageRules() = default;
  /// Bytes that the device uses for an allocation of `bytes`.
  virtual int64_t allocated_bytes(int64_t bytes) const = 0;
  /// Bytes of one value of a tile, in a plan of this dtype.
  virtual int64_t tile_element_bytes(Dtype dtype) const = 0;
  /// Bytes that the device uses for the tiles of `items` batch items with `item_bytes` each.
  virtual int64_t tile_bytes(int64_t item_bytes, int64_t items) const = 0;
  /// The most values that one item may have in a tile.
  virtual int64_t most_tile_values() const = 0;
  /// An operation's parameters as the device's code reads them.
  virtual int64_t weights_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm,
                                Dtype dtype) const = 0;
  /// Bytes of statistics and sums, of values derived from them, and of their buffers. They are live for the
  /// whole decode.
  virtual int64_t state_bytes(const Graph& graph, const Sizes& sizes) const = 0;
};

/// Tiles are fp32 in every dtype. All items share one allocation of whole pages, or of a multiple of 64 bytes
/// if it is small. Kernels are packed for the algorithm, in fp32. The state is small and lies outside the
/// pool.
const StorageRules& cpu_storage();
/// Tiles are in the plan's dtype. Each item has its own allocation, a multiple of 512 bytes for alignment.
/// decoder/schedule/gpu_layout.h defines the layout of parameters and state.
const StorageRules& gpu_storage();

const StorageRules& storage_rules(const Storage& storage);
inline const StorageRules& storage_rules(const Sizes& sizes) {
  return storage_rules(sizes.storage());
}

/// Bytes that the device uses for an allocation of `bytes`.
int64_t allocated_bytes(int64_t bytes, const Sizes& sizes);
/// Bytes of one value of a tile. The latent is fp32 on every device.
int64_t tile_element_bytes(const Sizes& sizes);
/// Bytes of one tile of all items.
int64_t tile_bytes(const Graph& graph, TensorId tensor, const Extent& extent, const Sizes& sizes);
/// Bytes of one micro-batch of the latent, which is live throughout.
int64_t latent_bytes(const Graph& graph, const Sizes& sizes);
int64_t device_state_bytes(const Graph& graph, const Sizes& sizes);

}  // namespace headroom

// Sizes of allocations in the CPU's pool. The pool allocates by these rules (decoder/cpu/limited_pool.cpp),
// and the planner counts by them.
namespace headroom::cpu {

constexpr int64_t kPageBytes = 4096;
/// Smaller allocations come from the heap, which serves them better than whole pages.
constexpr int64_t kSmallestPagedBytes = 4 * kPageBytes;
/// Size unit and alignment of allocations from the heap.
constexpr int64_t kAlignmentBytes = 64;

constexpr int64_t round_up(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}
/// Whole pages, or multiples of 64 bytes for small allocations.
constexpr int64_t allocated_bytes(int64_t bytes) {
  return round_up(bytes, bytes < kSmallestPagedBytes ? kAlignmentBytes : kPageBytes);
}

}  // namespace headroom::cpu

namespace headroom {

/// The operations that a pass runs, each listed once: several steps can share one copy of the parameters.
std::vector<OpId> operations_of(const Pass& pass);
std::vector<OpId> all_operations(const Graph& graph);

/// Bytes of an operation's parameters as the device's code reads them, kernels packed for this algorithm
/// (StorageRules::weights_bytes).
int64_t weights_bytes(const Graph& graph, const Op& op, ConvolutionAlgorithm algorithm,
                      const Storage& storage);
/// Bytes of all parameters if they stay on the device throughout. Kernels are then packed for the direct
/// algorithm.
int64_t resident_weights_bytes(const Graph& graph, const Storage& storage);
/// Bytes that a pass with these algorithms loads onto the device: its parameters, or only its Winograd
/// kernels if parameters are resident.
int64_t pass_weights_bytes(const Graph& graph, const Pass& pass, const ConvolutionAlgorithms& algorithms,
                           WeightResidency residency, const Storage& storage);
/// Bytes of all parameters that are on the device during one pass.
int64_t device_weights_bytes(const Graph& graph, const Plan& plan, const Pass& pass);

}  // namespace headroom
