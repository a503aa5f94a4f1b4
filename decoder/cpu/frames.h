#pragma once

#include "decoder/interpreter/map_view.h"

namespace headroom {

/// Linear interpolation by 2 along the axes of `factor`, like PyTorch's with align_corners=False. Each
/// position becomes two, a quarter of the way towards each neighbour, clamped at the edges. Over time the
/// first frame stays as it is and only later frames are interpolated. `source_extent` is the source's
/// picture. `source` must hold all frames.
void interpolate(const MapView& source, const MapView& target, const Axes<int32_t>& factor,
                 const Extent& source_extent, const Region& region, int64_t items);

/// Writes the first frame of `first`, then two frames for each later one of `rest`: the first half of its
/// channels, then the second half.
void unfold_frames(const MapView& first, const MapView& rest, const MapView& target, const Region& region,
                   int64_t items);

}  // namespace headroom
