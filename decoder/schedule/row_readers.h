#pragma once

#include <vector>

#include "decoder/plan/sizes.h"

namespace headroom {

/// How the steps of a pass read the rows of one kept tensor.
class RowReaders {
 public:
  RowReaders(const Graph& graph, const Pass& pass, TensorId tensor, const Sizes& sizes);
  /// The first row read for a tile that begins at this grid row. Earlier rows are never needed again. Returns
  /// rows() if no step reads the tensor.
  int64_t first_row(int64_t grid_row) const;
  /// One past the last row read for a tile that ends before this grid row. Returns 0 if no step reads the
  /// tensor.
  int64_t last_row(int64_t grid_row) const;
  int64_t rows() const { return rows_; }  ///< of the tensor
  /// True if some step reads every row for every tile.
  bool reads_whole() const;
  /// The first band of the pass that reads any of these rows, or the number of bands if none does.
  size_t first_band(const Pass& pass, const Interval& rows) const;

 private:
  struct Reader {
    int32_t scale;                      ///< of the tensor that the step makes
    int32_t before, after;              ///< halo of its tile, without carried rows
    int64_t last_begin;                 ///< largest first row of the step's result
    int32_t factor, stride;             ///< Op::factor and Op::stride
    int32_t reach_before, reach_after;  ///< rows that it reads beside those that its result covers
    bool all;                           ///< a barrier: every row, for every tile
  };
  std::vector<Reader> readers_;
  int32_t grid_scale_;
  int64_t rows_;
};

}  // namespace headroom
