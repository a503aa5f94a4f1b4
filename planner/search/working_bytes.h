#pragma once

#include <map>
#include <span>
#include <vector>

#include "decoder/schedule/peak.h"
#include "planner/cost/cost_model.h"

namespace headroom::planner {

/// Memory that the steps of a pass need besides kept tensors, by tile size: tiles, carried frames and
/// workspace. It does not depend on which rows are kept. So all options with the same steps share it. Graph
/// and costs must outlive it.
class WorkingBytes {
 public:
  /// `lowered` is the pass without tiles.
  WorkingBytes(const Graph& graph, const CostModel& costs, const Sizes& sizes, Pass lowered);

  bool has_steps_of(const Pass& pass) const {
    return pass_.scale == pass.scale && pass_.carried_axis() == pass.carried_axis() &&
           pass_.steps == pass.steps;
  }
  /// Algorithms that the search tries for the pass's convolutions (planner/search/pass_option.h).
  const std::vector<ConvolutionAlgorithms>& algorithms() const { return algorithms_; }
  /// Working memory of one tile, by segment of the pass (decoder/schedule/peak.h). `algorithms` is an index
  /// into algorithms(). `staged` lists keys and values that are fetched block by block. Computed on first
  /// use, because most sizes are never needed. The next call overwrites the result. The entries do not name
  /// the step of the peak.
  std::span<const SegmentBytes> of_tile(const BandTile& tile, size_t algorithms,
                                        const std::vector<TensorId>& staged);

  /// The pass's tiles and algorithms are scratch: set them before each use.
  Pass& pass() { return pass_; }
  const Graph& graph() const { return graph_; }
  const CostModel& costs() const { return costs_; }
  const Sizes& sizes() const { return sizes_; }

 private:
  /// Key of tiles that differ only in height. Kept small, because a search needs hundreds of thousands of
  /// sizes.
  struct Key {
    int32_t t, x;
    uint16_t algorithms;
    uint8_t staged;  ///< index into staged_
    BandPlace place;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Known {
    int32_t height;
    uint32_t number;  ///< its entries in bytes_ start at number * segments_
  };

  std::span<const SegmentBytes> last(size_t number);

  const Graph& graph_;
  const CostModel& costs_;
  const Sizes sizes_;
  Pass pass_;
  const std::vector<ConvolutionAlgorithms> algorithms_;
  std::vector<std::vector<TensorId>> staged_;
  const size_t segments_;  ///< segments of the pass
  std::map<Key, std::vector<Known>> known_;
  std::vector<int64_t> bytes_;      ///< `segments_` entries for each known size
  std::vector<SegmentBytes> last_;  ///< result of the last call
};

}  // namespace headroom::planner
