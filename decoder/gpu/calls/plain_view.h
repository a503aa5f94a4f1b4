#pragma once

#include <algorithm>

#include "decoder/gpu/calls/calls.h"
#include "decoder/graph/geometry.h"

// Converts regions and extents to the types of GPU calls.
namespace headroom {

inline gpu::Span span_of(const Interval& interval) {
  return {static_cast<int32_t>(interval.begin), static_cast<int32_t>(interval.end)};
}

inline gpu::Box box_of(const Region& region) {
  return {span_of(region.t), span_of(region.y), span_of(region.x)};
}

/// A clip whose end is not known yet has 2^30 frames.
inline gpu::Size size_of(const Extent& extent) {
  return {static_cast<int32_t>(std::min(extent.t, int64_t{1} << 30)), static_cast<int32_t>(extent.y),
          static_cast<int32_t>(extent.x)};
}

/// A view of contiguous values as one block.
inline gpu::View plain_view(void* memory, const Region& region, int64_t channels, Dtype dtype) {
  gpu::View view;
  view.base = static_cast<std::byte*>(memory);
  view.region = box_of(region);
  view.channels = static_cast<int32_t>(channels);
  view.block_rows = static_cast<int32_t>(std::max<int64_t>(1, region.y.length()));
  view.dtype = dtype;
  return view;
}

}  // namespace headroom
