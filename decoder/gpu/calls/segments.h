#pragma once

#include <cstdint>

// How sums over a region are shared out; no GPU is needed to know. See moment_segments() and
// key_value_partials() in calls.h.
namespace headroom::gpu {

/// Channels of which a block of threads makes moments: as many whole groups as there are in so many, or so
/// many of one group.
constexpr int64_t kSliceChannels = 128;
/// Blocks of threads that make moments of a frame, over all slices, where it has many pixels. A GPU runs some
/// hundreds at once, and is idle in part while the last of them run: three times what 132 processors hold,
/// and close above or not far below whole times what others hold. It is the same on all, so that a decode's
/// roundings are.
constexpr int64_t kMomentBlocks = 1584;
int64_t slices_of_group(int64_t channels, int64_t groups);

}  // namespace headroom::gpu
