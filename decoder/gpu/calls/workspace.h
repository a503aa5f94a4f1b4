#pragma once

#include <algorithm>
#include <cstdint>

#include "decoder/graph/graph.h"

// What calls of a GPU take beside their tiles: the planner counts with it, the GPU goes by it. Needs no CUDA.
namespace headroom::gpu {

/// Attention as matrix products: chunks of queries against chunks of keys.
struct AttentionChunks {
  int64_t queries = 0, keys = 0;

  /// Offsets in the workspace, and its end: memory for the products themselves, scores in fp32,
  /// which become weights of 16 bits over them, sums of weighted values in fp32, the largest score and
  /// the sum of the weights of each query.
  struct Layout {
    int64_t scores = 0, sums = 0, largest = 0, weights = 0, end = 0;
  };
  constexpr Layout layout(int64_t channels) const {
    constexpr int64_t kProducts = int64_t{8} << 20, kFloat = 4;
    const auto after = [](int64_t begin, int64_t bytes) { return (begin + bytes + 255) / 256 * 256; };
    Layout offsets;
    offsets.scores = kProducts;
    offsets.sums = after(offsets.scores, queries * keys * kFloat);
    offsets.largest = after(offsets.sums, queries * channels * kFloat);
    offsets.weights = after(offsets.largest, queries * kFloat);
    offsets.end = after(offsets.weights, queries * kFloat);
    return offsets;
  }
};

/// Larger chunks are no faster.
constexpr AttentionChunks kLargestAttentionChunks{4096, 2048};
/// Below these a kernel of our own does as well.
constexpr AttentionChunks kSmallestAttentionChunks{256, 256};

constexpr AttentionChunks largest_attention_chunks(int64_t queries, int64_t keys) {
  return {std::min(queries, kLargestAttentionChunks.queries), std::min(keys, kLargestAttentionChunks.keys)};
}

/// Workspace with which attention over one frame runs at full speed; with less its chunks shrink. None in
/// fp32, which has no matrix products without TF32.
constexpr int64_t attention_workspace_bytes(int64_t queries, int64_t keys, int64_t channels, Dtype dtype) {
  if (dtype == Dtype::fp32) return 0;
  return largest_attention_chunks(queries, keys).layout(channels).end;
}

/// The chunks for which there is workspace; none where there is too little.
constexpr AttentionChunks attention_chunks(int64_t queries, int64_t keys, int64_t channels,
                                           int64_t workspace_bytes) {
  AttentionChunks chunks = largest_attention_chunks(queries, keys);
  while (chunks.layout(channels).end > workspace_bytes) {
    if (chunks.queries > kSmallestAttentionChunks.queries) {
      chunks.queries = std::max(chunks.queries / 2, kSmallestAttentionChunks.queries);
    } else if (chunks.keys > kSmallestAttentionChunks.keys) {
      chunks.keys = std::max(chunks.keys / 2, kSmallestAttentionChunks.keys);
    } else {
      return {};
    }
  }
  return chunks;
}

}  // namespace headroom::gpu
