#pragma once

#include <map>
#include <vector>

#include "decoder/schedule/tensor_use.h"

namespace headroom {

// A kept tensor is stored in blocks: bands of `block_rows` rows of one batch item, with all of their
// frames.

/// Height in rows that the planner chooses for a tensor's blocks, whatever `use.block_rows` is. Blocks have
/// about `block_bytes` bytes, and more if a tensor would need too many of them.
int64_t block_rows(const Graph& graph, const TensorUse& use, const Sizes& sizes, int64_t block_bytes);
/// Number of blocks per batch item for the rows that this rank keeps.
int64_t block_count(const Graph& graph, const TensorUse& use, const Sizes& sizes);
inline int64_t block_count(const Graph& graph, const KeptTensor& kept, const Sizes& sizes) {
  return block_count(graph, use_of(kept), sizes);
}

/// Bytes that the device allocates for one block of one batch item.
int64_t kept_block_bytes(const Graph& graph, const TensorUse& use, const Sizes& sizes);
inline int64_t kept_block_bytes(const Graph& graph, const KeptTensor& kept, const Sizes& sizes) {
  return kept_block_bytes(graph, use_of(kept), sizes);
}
/// Bytes of all blocks of all batch items.
int64_t kept_bytes(const Graph& graph, const TensorUse& use, const Sizes& sizes);
inline int64_t kept_bytes(const Graph& graph, const KeptTensor& kept, const Sizes& sizes) {
  return kept_bytes(graph, use_of(kept), sizes);
}

/// Offsets of kept blocks in a scratch file. The file consists of slots of whole pages. A slot is as large as
/// the largest block in the file. A tensor owns its slots from its first pass to its last.
struct ScratchLayout {
  int64_t slot_bytes = 0;
  int64_t slots = 0;  ///< 0 if the plan keeps nothing in the file
  /// By tensor: the slots of its blocks, item by item, top to bottom.
  std::map<TensorId, std::vector<int64_t>> slots_of{};
};
ScratchLayout scratch_layout(const Graph& graph, const Plan& plan);

}  // namespace headroom
