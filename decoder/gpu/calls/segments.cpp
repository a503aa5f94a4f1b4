#include <algorithm>

#include "decoder/gpu/calls/calls.h"
#include "decoder/gpu/calls/segments.h"

namespace headroom::gpu {
namespace {

int64_t length(const Span& span) {
  return std::max(0, span.end - span.begin);
}

/// Number of segments for `count` items: ceil(count / least), limited to 1 … `most`.
int64_t segment_count(int64_t count, int64_t least, int64_t most) {
  return std::clamp<int64_t>((count + least - 1) / least, 1, most);
}

}  // namespace

int64_t moment_segments(int64_t rows, int64_t columns, int64_t channels) {
  // Large regions get enough segments to fill a GPU. Each segment has enough values to occupy all threads of
  // its block.
  constexpr int64_t kLeastPixels = 128, kLeastValues = 16384;
  const int64_t least = std::max(kLeastPixels, kLeastValues / std::min(channels, kSliceChannels));
  const int64_t slices = (channels + kSliceChannels - 1) / kSliceChannels;
  return segment_count(rows * columns, least, std::max<int64_t>(1, kMomentBlocks / slices));
}

int64_t slices_of_group(int64_t channels, int64_t groups) {
  return (channels / groups + kSliceChannels - 1) / kSliceChannels;
}

int64_t partial_moments(const Box& region, int64_t channels, int64_t groups) {
  return length(region.t) * moment_segments(length(region.y), length(region.x), channels) *
         slices_of_group(channels, groups) * groups;
}

int64_t moment_counters(const Box& region, int64_t channels, int64_t groups, bool by_frame) {
  const int64_t frames = length(region.t), sets = by_frame ? frames : 1;
  const int64_t of_set = partial_moments(region, channels, groups) / std::max<int64_t>(1, sets) / groups;
  return sets * groups * ((of_set + kMomentStretch - 1) / kMomentStretch + 1);
}

int64_t key_value_partials(const Box& region) {
  constexpr int64_t kLeastPositions = 256, kMost = 32;
  return segment_count(length(region.t) * length(region.y) * length(region.x), kLeastPositions, kMost);
}

}  // namespace headroom::gpu
