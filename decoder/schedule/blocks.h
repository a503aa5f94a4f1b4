#pragma once

#include <compare>
#include <map>
#include <optional>
#include <vector>

#include "decoder/plan/sizes.h"

namespace headroom {

/// A kept tensor during one pass.
struct TensorUse {
  TensorId tensor{-1};
  std::optional<Interval> rows{};  ///< rows that one of several ranks keeps; unset: all
  int64_t block_rows = 0;
  MemoryTier tier = MemoryTier::device;
  bool written = false;  ///< by this pass
  bool leaves = false;   ///< the pass frees blocks once the sweep has passed them
  friend auto operator<=>(const TensorUse&, const TensorUse&) = default;
};

/// The use of a tensor that stays for the whole pass and is not freed.
TensorUse use_of(const KeptTensor& kept);

/// The rows of a tensor that this rank keeps.
Interval kept_rows(const Graph& graph, const TensorUse& use, const Sizes& sizes);

/// The kept tensors during a pass of the plan. A tensor is not freed if another one overwrites its blocks in
/// this pass.
std::vector<TensorUse> uses_in(const Plan& plan, size_t pass);

/// True if another tensor takes over the blocks of this one in the pass.
bool is_taken_over(const Plan& plan, TensorId tensor, size_t pass);

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
