#pragma once

#include <cstdint>

// Workspace of linear attention. The planner predicts memory from these sizes, and the runtime allocates by
// them.
namespace headroom {

/// Columns of the matrix of a head's sums: one per channel of v and one for the sum of k alone, padded to a
/// multiple of 16.
constexpr int64_t padded_head_channels(int64_t channels) {
  return (channels + 1 + 15) / 16 * 16;
}

/// Floats of the sums of all heads.
constexpr int64_t linear_attention_floats(int64_t heads, int64_t channels, int64_t items) {
  return items * heads * channels * padded_head_channels(channels);
}

}  // namespace headroom
