#pragma once

#include <cstdint>

#include "decoder/graph/graph.h"

// Linear attention and its sums over keys and values (Katharopoulos et al. 2020, arXiv:2006.16236). The
// planner predicts memory from these sizes, and the runtime allocates by them.
namespace headroom {

/// Channels of q, of k and of v in each head of key_value_sums or linear_attention.
int64_t head_channels(const Graph& graph, const Op& op);

// Workspace on the CPU.

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
