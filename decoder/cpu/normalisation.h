#pragma once

#include "decoder/cpu/group_norm_statistics.h"
#include "decoder/cpu/packed_weights.h"
#include "decoder/graph/graph.h"

namespace headroom {

/// Parameters of a norm, other than its statistics.
struct Normalisation {
  const OpWeights& weights;
  double epsilon = 0;
  Activation activation = Activation::none;
  bool centred = false;  ///< rms_normalise(): subtract the position's mean first
};

/// Applies group norm and the activation to `source`, into the region of a tile. Writes zeros outside the
/// picture.
void normalise(const Normalisation& norm, const GroupStatistics& statistics, const MapView& source,
               const MapView& target, const Extent& picture, int64_t items);

/// Normalises each position of a region inside the picture by itself: x / root mean square over channels,
/// scaled and shifted, then activated.
void rms_normalise(const Normalisation& norm, const MapView& source, const MapView& target,
                   const Region& region, int64_t items);

}  // namespace headroom
