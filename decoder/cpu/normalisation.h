#pragma once

#include "decoder/cpu/packed_weights.h"
#include "decoder/cpu/statistics.h"
#include "decoder/graph/graph.h"

namespace headroom {

/// Normalises and activates `source` into the region of a tile, zero outside the picture.
void normalise(const MapView& source, const MapView& target, Activation activation, double epsilon,
               const OpWeights& weights, const GroupStatistics& statistics, const Extent& picture,
               int64_t items);

/// Normalises each position of a region inside the picture by itself: x / root mean square over channels,
/// scaled and shifted, then activated.
void rms_normalise(const MapView& source, const MapView& target, Activation activation, double epsilon,
                   const OpWeights& weights, const Region& region, int64_t items);

}  // namespace headroom
