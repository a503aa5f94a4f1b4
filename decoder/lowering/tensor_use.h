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
  bool leaves = false;   ///< blocks are given back as the sweep leaves them behind
  friend auto operator<=>(const TensorUse&, const TensorUse&) = default;
};

/// The use of a tensor that is there throughout a pass and stays.
TensorUse use_of(const KeptTensor& kept);

/// The rows of a tensor that are kept here.
Interval kept_rows(const Graph& graph, const TensorUse& use, const Sizes& sizes);

/// The tensors that are kept during a pass of the plan. A tensor whose blocks another one takes over in this
/// pass does not leave.
std::vector<TensorUse> uses_in(const Plan& plan, size_t pass);

}  // namespace headroom
