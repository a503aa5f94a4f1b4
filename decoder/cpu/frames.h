#pragma once

#include "decoder/interpreter/map_view.h"

namespace headroom {

/// Linear interpolation by 2 along the axes of `factor` as PyTorch does it without aligned corners: each
/// position becomes two, a quarter of the way towards its neighbours, and no further than the outermost.
/// Along the time so between the frames after the first, which stays. `source_extent` is the source's; of the
/// time all frames must be there.
void interpolate(const MapView& source, const MapView& target, const Axes<int32_t>& factor,
                 const Extent& source_extent, const Region& region, int64_t items);

/// The first frame of `first`, then two frames for each later one of `rest`: the first half of its channels,
/// and the second.
void unfold_frames(const MapView& first, const MapView& rest, const MapView& target, const Region& region,
                   int64_t items);

}  // namespace headroom
