#include "planner/search/working_bytes.h"

namespace headroom::planner {

const std::vector<SegmentBytes>& WorkingBytes::of_tile(const BandTile& tile,
                                                       const ConvolutionAlgorithms& algorithms,
                                                       const std::vector<TensorId>& staged) {
  const auto [entry, is_new] =
      known_.try_emplace({tile.extent.t, tile.extent.y, tile.extent.x, tile.place, algorithms, staged});
  if (!is_new) return entry->second;
  pass_.convolutions = algorithms;
  entry->second =
      step_bytes_by_segment(pass_, step_bytes(graph_, pass_, tile, sizes_, costs_.memory(), staged));
  return entry->second;
}

}  // namespace headroom::planner
