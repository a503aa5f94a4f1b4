#pragma once

#include <compare>
#include <optional>
#include <vector>

#include "decoder/plan/sizes.h"

namespace headroom {

/// A kept tensor during one pass.
struct TensorUse {
  TensorId tensor{-1};
  std::optional<Interval> rows{};  ///< rows that are kept; unset: all
  int64_t block_rows = 0;
  MemoryTier tier = MemoryTier::device;
  bool written = false;                ///< by this pass
  bool leaves = false;                 ///< blocks are given back as the sweep leaves them behind
  int64_t begin_row = 0;               ///< blocks before this row are gone when the pass begins
  std::optional<int64_t> held_from{};  ///< rows from here on stay; unset: a tensor that leaves leaves whole
  friend auto operator<=>(const TensorUse&, const TensorUse&) = default;
};

/// The use of a tensor that is there throughout a pass and stays.
TensorUse use_of(const KeptTensor& kept);

/// The rows of a tensor that are kept here.
Interval kept_rows(const Graph& graph, const TensorUse& use, const Sizes& sizes);

/// The tensors that are kept during a pass of the plan. A tensor whose blocks another one takes over in this
/// pass does not leave.
std::vector<TensorUse> uses_in(const Graph& graph, const Plan& plan, size_t pass, const Sizes& sizes);

/// The first row of a tensor that the lower part of a pass reads. The upper part may give earlier rows back.
int64_t first_row_of_lower_part(const Graph& graph, const Pass& lower, TensorId tensor, const Sizes& sizes);

/// Rows below a cut are recomputed, and their halo reaches above it. So this many latent rows above the cut
/// stay available.
constexpr int64_t kRowsAboveLine = 4;
/// The first row of a tensor that stays for lower parts alone, where tensors are kept above a row of the
/// latent.
int64_t first_row_below(const Graph& graph, TensorId tensor, int64_t latent_rows);

}  // namespace headroom
