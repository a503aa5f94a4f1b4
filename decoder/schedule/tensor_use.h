#pragma once

#include <compare>
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

}  // namespace headroom
