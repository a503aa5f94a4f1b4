#pragma once

#include <algorithm>
#include <cstdint>

#include "decoder/graph/graph.h"

// Memory that GPU calls take beside their tiles. The planner and the GPU share these formulas, which need no
// CUDA.
namespace headroom::gpu {

/// Attention as matrix products: chunks of queries against chunks of keys, each of one frame. While the
/// products of one chunk of keys run, the scores of the next become weights: there are two buffers of them,
/// or one where one chunk has all keys.
struct AttentionChunks {
  int64_t queries = 0, keys = 0;
  int64_t buffers = 1;

  /// Scores from one query to the next. Rows, and those of the weights that overwrite them, begin at
  /// multiples of 32 bytes: kernels that load 16 bytes at once take no others.
  constexpr int64_t row() const { return (keys + 7) / 8 * 8; }

  /// Offsets in the workspace, and its end: memory for the products themselves, scores in fp32,
  /// which become weights of 16 bits over them, sums of weighted values in fp32; of each query the largest
  /// score, the sum of the weights, and by what its sums are rescaled.
  struct Layout {
    int64_t scores[2] = {}, sums = 0, largest = 0, weights = 0, factors = 0, end = 0;
  };
  constexpr Layout layout(int64_t channels) const {
    return layout_of(queries * row(), buffers, queries, channels);
  }

  static constexpr Layout layout_of(int64_t scores, int64_t buffers, int64_t queries, int64_t channels) {
    constexpr int64_t kProducts = int64_t{8} << 20, kFloat = 4;
    const auto after = [](int64_t begin, int64_t floats) {
      return (begin + floats * kFloat + 255) / 256 * 256;
    };
    Layout offsets;
    offsets.scores[0] = kProducts;
    offsets.scores[1] = buffers == 1 ? kProducts : after(kProducts, scores);
    offsets.sums = after(offsets.scores[1], scores);
    offsets.largest = after(offsets.sums, queries * channels);
    offsets.weights = after(offsets.largest, queries);
    offsets.factors = after(offsets.weights, queries);
    offsets.end = after(offsets.factors, queries);
    return offsets;
  }
};

/// Rows and columns of what one processor of a GPU makes of a product at a time, or half of that.
constexpr int64_t kProductTile = 128;
/// So many tiles for each processor keep all of them busy but at the end.
constexpr int64_t kProductWaves = 2;
/// Processors that the workspace is for: those of an H100 or H200. With others chunks are what fits.
constexpr int64_t kUsualProcessors = 132;
constexpr int64_t kFewestKeysAtOnce = 512, kMostKeysAtOnce = 2048;
/// Most scores in one buffer: 1024 keys for the queries that fill an H100 or H200 at 512 channels. Most
/// decoders have 512 channels.
constexpr int64_t kMostScores = kProductWaves * kUsualProcessors / 4 * kProductTile * 1024;
/// Below these a kernel of our own does as well.
constexpr AttentionChunks kSmallestAttentionChunks{256, 256, 2};

/// Queries of which the sums make so many waves of tiles.
constexpr int64_t queries_of_waves(int64_t waves, int64_t channels, int64_t processors) {
  const int64_t across = (channels + kProductTile - 1) / kProductTile;
  return (waves * processors + across - 1) / across * kProductTile;
}
/// Most queries in one chunk, on any card.
constexpr int64_t most_attention_queries(int64_t channels) {
  return std::min(queries_of_waves(kProductWaves, channels, kUsualProcessors),
                  kMostScores / kFewestKeysAtOnce);
}

/// Workspace with which attention runs at full speed for queries of one frame and the keys of one or several;
/// with less its chunks shrink. None in fp32, which has no matrix products without TF32. More queries or keys
/// never take less.
constexpr int64_t attention_workspace_bytes(int64_t queries, int64_t keys, int64_t channels, Dtype dtype) {
  if (dtype == Dtype::fp32) return 0;
  constexpr int64_t kRows = 16;  // of two buffers
  const int64_t at_once = std::min(queries, most_attention_queries(channels));
  const int64_t scores = std::min(at_once * ((keys + kRows - 1) / kRows * kRows),
                                  2 * std::min(at_once * kMostKeysAtOnce, kMostScores));
  // Two buffers of half of that take no less than one.
  return AttentionChunks::layout_of((scores + 1) / 2, 2, at_once, channels).end;
}

/// Layout of an AttentionState, whose lists outlive a call if keys come in several calls. Offsets and end in
/// bytes.
struct AttentionStateLayout {
  int64_t sums = 0, largest = 0, weights = 0, end = 0;
};
constexpr AttentionStateLayout attention_state_layout(int64_t queries, int64_t channels) {
  const auto after = [](int64_t begin, int64_t floats) { return (begin + floats * 4 + 255) / 256 * 256; };
  AttentionStateLayout offsets;
  offsets.largest = after(0, queries * channels);
  offsets.weights = after(offsets.largest, queries);
  offsets.end = after(offsets.weights, queries);
  return offsets;
}

/// The chunks that a card of so many processors (multiprocessors) works in where there is ample workspace:
/// `keys` are those of each of `key_frames` frames.
/// The sums of a chunk of queries make whole waves of tiles, two if that many queries can be had at a time,
/// and then there are as many keys as leave room for that.
constexpr AttentionChunks full_attention_chunks(int64_t queries, int64_t keys, int64_t channels,
                                                int64_t processors, int64_t key_frames = 1) {
  int64_t most = most_attention_queries(channels);
  for (int64_t waves = kProductWaves; waves > 0; --waves) {
    const int64_t wanted = queries_of_waves(waves, channels, processors);
    if (wanted > most) continue;
    most = wanted;
    break;
  }
  AttentionChunks chunks;
  chunks.queries = std::min(queries, most);
  // A power of 2: blocks of kept tensors often are, and keys across two blocks take two products.
  int64_t keys_at_once = kMostKeysAtOnce;
  while (keys_at_once > kFewestKeysAtOnce && chunks.queries * keys_at_once > kMostScores) keys_at_once /= 2;
  const int64_t count = (keys + keys_at_once - 1) / keys_at_once;
  chunks.keys = count == 1 ? keys : ((keys + count - 1) / count + 7) / 8 * 8;
  chunks.buffers = count * key_frames == 1 ? 1 : 2;
  return chunks;
}

/// The chunks for which there is workspace; none where there is too little.
constexpr AttentionChunks attention_chunks(int64_t queries, int64_t keys, int64_t channels,
                                           int64_t workspace_bytes, int64_t processors,
                                           int64_t key_frames = 1) {
  AttentionChunks chunks = full_attention_chunks(queries, keys, channels, processors, key_frames);
  while (chunks.layout(channels).end > workspace_bytes) {
    if (chunks.queries > kSmallestAttentionChunks.queries) {
      chunks.queries = std::max(chunks.queries / 2, kSmallestAttentionChunks.queries);
    } else if (chunks.keys > kSmallestAttentionChunks.keys) {
      chunks.keys = std::max(chunks.keys / 2, kSmallestAttentionChunks.keys);
      chunks.buffers = 2;
    } else {
      return {};
    }
  }
  return chunks;
}

}  // namespace headroom::gpu
