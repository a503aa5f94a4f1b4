#pragma once

#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

// Rows of tiles in a pass that carries rows, derived from docs/planning.md alone.
namespace headroom::test {

struct SimulatedRows {
  Interval tile;  ///< all, and positions outside the picture
  Interval made;  ///< those that the step computes: without those of the tile above
};
/// Rows of a step in one band. The pass may carry rows or not.
SimulatedRows simulated_rows(const Graph& graph, const Pass& pass, const Step& step, size_t band,
                             const Sizes& sizes);

/// Rows of the step's tile that it leaves for the tile below.
int64_t rows_left(const Pass& pass, const Step& step);

/// Heights that are tried where rows are carried. Empty where it would spare no convolution.
std::vector<int64_t> heights_with_rows_carried(const Graph& graph, const Pass& pass,
                                               const std::vector<int64_t>& heights);
/// The bands of such a height.
std::vector<Interval> bands_with_rows_carried(const Graph& graph, const Pass& pass, int64_t height,
                                              int64_t rows);

}  // namespace headroom::test
