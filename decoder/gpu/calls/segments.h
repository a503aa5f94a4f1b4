#pragma once

#include <cstdint>

// How sums over a region are shared out; no GPU is needed to know. See moment_segments() and
// key_value_partials() in calls.h.
namespace headroom::gpu {

/// Channels of which a block of threads makes moments: as many whole groups as there are in so many, or so
/// many of one group.
constexpr int64_t kSliceChannels = 128;
int64_t slices_of_group(int64_t channels, int64_t groups);

}  // namespace headroom::gpu
