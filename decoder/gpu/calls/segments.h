#pragma once

#include <cstdint>

// How kernels split sums over a region among thread blocks. Needs no GPU. See moment_segments() and
// key_value_partials() in calls.h.
namespace headroom::gpu {

/// Most channels per thread block in AddMoments. A block has as many whole groups as fit, or this many
/// channels of one larger group.
constexpr int64_t kSliceChannels = 128;
/// Most thread blocks that compute the moments of a frame, over all slices. An H100 or H200 with 132
/// multiprocessors runs these in three full waves. On other GPUs the last wave may be partly empty. The
/// number is the same on all GPUs, so the rounding is too.
constexpr int64_t kMomentBlocks = 1584;
int64_t slices_of_group(int64_t channels, int64_t groups);
/// Partial moments of a group that one thread block merges.
constexpr int64_t kMomentStretch = 64;

}  // namespace headroom::gpu
