#pragma once

#include <cstdint>
#include <vector>

#include "decoder/graph/graph.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// Number of keys for each query in a frame of attention's result: all positions of attended_frames().
int64_t attended_keys(const Graph& graph, const Op& op, const Extent& latent, int64_t frame);
/// attended_keys() of the last frame. No other frame has more.
int64_t most_attended_keys(const Graph& graph, const Op& op, const Extent& latent);

// Block sizes of attention on the CPU. The planner derives the workspace from them, and the kernel computes
// with them.

/// One call of softmax(q kᵀ) v for the queries of one frame. It processes keys in chunks. For each chunk,
/// threads share the blocks of queries, while the next chunk is packed. Scores exist for one block and one
/// chunk at a time (online softmax: Milakov and Gimelshein 2018, arXiv:1805.02867; in blocks: Dao et al.
/// 2022, arXiv:2205.14135).
///
///                 keys of one chunk, packed once for all threads
///               +-----------+
///     queries   |  scores   |   weights · values of the chunk -> sums of the block, in the target
///     of a      |  of a     |
///     block     |  thread   |
///               +-----------+
struct AttentionWork {
  int64_t queries = 0;  ///< queries of the call
  int64_t chunk = 0;    ///< keys in one chunk
  int64_t block = 0;    ///< queries that one thread computes at a time
  int64_t channels = 0;
  int64_t chunks_at_once = 1;  ///< packed chunks in memory: two if there are several chunks

  int64_t packed_keys() const { return (chunk + 15) / 16 * 16; }
  int64_t packed_channels() const { return (channels + 15) / 16 * 16; }

  // Floats of the workspace's buffers, which are stored one after another.
  int64_t key_floats() const { return packed_keys() * channels; }     ///< of one chunk
  int64_t value_floats() const { return chunk * packed_channels(); }  ///< of one chunk
  int64_t score_floats() const { return block * packed_keys(); }      ///< of one thread
  int64_t row_floats() const { return 2 * queries; }  ///< largest score and sum of weights per query
  int64_t floats(int64_t threads) const {
    return chunks_at_once * (key_floats() + value_floats()) + threads * score_floats() + row_floats();
  }
};

/// `queries` are the positions of one frame. `keys` are the positions of all frames that this frame attends
/// to.
AttentionWork attention_work(int64_t queries, int64_t keys, int64_t channels);

/// True if an attention can read keys and values block by block, so that they can live in a lower tier. Its
/// frames must not be interleaved, and no other operation may read either tensor from where it is kept.
bool takes_keys_by_block(const Graph& graph, const Op& op);
/// The tensors of `below` that the pass's attention reads as keys or values. `below` lists tensors in a lower
/// tier.
std::vector<TensorId> staged_in(const Pass& pass, const std::vector<TensorId>& below);

// Linear attention and its sums over keys and values (Katharopoulos et al. 2020, arXiv:2006.16236). The
// planner predicts memory from these sizes, and the runtime allocates by them.

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
