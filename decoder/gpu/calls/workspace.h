#pragma once

#include <algorithm>
#include <cstdint>

#include "decoder/graph/graph.h"

// Workspace sizes of GPU calls. The planner and the GPU share these formulas, which need no CUDA.
namespace headroom::gpu {

/// Chunk sizes of attention by matrix products: chunks of queries against chunks of keys, each of one frame.
/// While the products of one chunk of keys run, the softmax of another runs. So there are two score buffers,
/// or one if a single chunk has all keys.
struct AttentionChunks {
  int64_t queries = 0, keys = 0;
  int64_t buffers = 1;

  /// Row stride of the scores, in floats. It is a multiple of 32 bytes, so the rows of scores and of the
  /// weights that overwrite them suit 16-byte loads.
  constexpr int64_t row() const { return (keys + 7) / 8 * 8; }

  /// Byte offsets in the workspace. The matrix products' own workspace comes first. Then come the fp32
  /// scores, which the weights overwrite, and the fp32 sums of weighted values. Then come three lists with
  /// one float per query: largest score, sum of weights, rescaling factor.
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

/// Rows and columns of the output tile that one multiprocessor computes at a time in a matrix product, or
/// half of such a tile.
constexpr int64_t kProductTile = 128;
/// Tiles per multiprocessor that keep nearly all multiprocessors busy.
constexpr int64_t kProductWaves = 2;
/// Multiprocessors that the workspace is sized for: an H100 or H200. Other cards use the chunks that fit.
constexpr int64_t kUsualProcessors = 132;
constexpr int64_t kFewestKeysAtOnce = 512, kMostKeysAtOnce = 2048;
/// Most scores in one buffer: 1024 keys for the queries that fill an H100 or H200 at 512 channels. Most
/// decoders have 512 channels.
constexpr int64_t kMostScores = kProductWaves * kUsualProcessors / 4 * kProductTile * 1024;
/// Smallest chunks. Below these sizes our own attention kernel is as fast.
constexpr AttentionChunks kSmallestAttentionChunks{256, 256, 2};

/// Queries whose output fills this many waves of tiles.
constexpr int64_t queries_of_waves(int64_t waves, int64_t channels, int64_t processors) {
  const int64_t across = (channels + kProductTile - 1) / kProductTile;
  return (waves * processors + across - 1) / across * kProductTile;
}
/// Most queries in one chunk, on any card.
constexpr int64_t most_attention_queries(int64_t channels) {
  return std::min(queries_of_waves(kProductWaves, channels, kUsualProcessors),
                  kMostScores / kFewestKeysAtOnce);
}

/// Workspace with which attention of one frame's queries runs at full speed. With less workspace its chunks
/// shrink. Scores and sums are fp32 in every dtype. The result never decreases as queries or keys increase.
constexpr int64_t attention_workspace_bytes(int64_t queries, int64_t keys, int64_t channels) {
  constexpr int64_t kRows = 16;  // two buffers, each padded to 8 keys
  const int64_t at_once = std::min(queries, most_attention_queries(channels));
  const int64_t scores = std::min(at_once * ((keys + kRows - 1) / kRows * kRows),
                                  2 * std::min(at_once * kMostKeysAtOnce, kMostScores));
  // Sized for two buffers of half the scores; padding makes this no smaller than one buffer.
  return AttentionChunks::layout_of((scores + 1) / 2, 2, at_once, channels).end;
}

/// Byte offsets of the lists of an AttentionState, and its size.
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

/// Chunk sizes for a card with `processors` multiprocessors if the workspace is ample. `keys` is the number
/// of keys per frame. The queries of a chunk fill whole waves of output tiles, two if possible. The keys of a
/// chunk then fill the score buffer.
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
  // A power of 2, like many block sizes of kept tensors: a key chunk that spans two blocks takes two
  // products.
  int64_t keys_at_once = kMostKeysAtOnce;
  while (keys_at_once > kFewestKeysAtOnce && chunks.queries * keys_at_once > kMostScores) keys_at_once /= 2;
  const int64_t count = (keys + keys_at_once - 1) / keys_at_once;
  chunks.keys = count == 1 ? keys : ((keys + count - 1) / count + 7) / 8 * 8;
  chunks.buffers = count * key_frames == 1 ? 1 : 2;
  return chunks;
}

/// Chunk sizes that fit the workspace; all zero if it is too small.
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
