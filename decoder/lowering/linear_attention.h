#pragma once

#include <cstdint>

// Memory of linear attention beside its tiles. The planner counts by these sizes, and the runtime allocates
// by them.
namespace headroom {

/// Columns of a head's sums as they are multiplied with: those of v and the one of 1, padded to a multiple
/// of 16.
constexpr int64_t padded_head_channels(int64_t channels) {
  return (channels + 1 + 15) / 16 * 16;
}

/// Floats of the sums of all heads.
constexpr int64_t linear_attention_floats(int64_t heads, int64_t channels, int64_t items) {
  return items * heads * channels * padded_head_channels(channels);
}

}  // namespace headroom
