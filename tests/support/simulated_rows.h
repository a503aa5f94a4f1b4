#pragma once

#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

// Rows of tiles in a pass that carries rows, derived only from docs/planning.md.
namespace headroom::test {

struct SimulatedRows {
  Interval tile;  ///< all rows, including positions outside the picture
  Interval made;  ///< rows that the step computes; excludes rows taken from the tile above
};
/// Rows of a step in one band, for passes with and without carried rows.
SimulatedRows simulated_rows(const Graph& graph, const Pass& pass, const Step& step, size_t band,
                             const Sizes& sizes);

/// Number of rows of the step's tile that it leaves for the tile below.
int64_t rows_left(const Pass& pass, const Step& step);

/// Band heights tried for a pass that carries rows. Empty if carrying rows saves no convolution.
std::vector<int64_t> heights_with_rows_carried(const Graph& graph, const Pass& pass,
                                               const std::vector<int64_t>& heights);
/// Bands for a height with carried rows.
std::vector<Interval> bands_with_rows_carried(const Graph& graph, const Pass& pass, int64_t height,
                                              int64_t rows);

}  // namespace headroom::test
