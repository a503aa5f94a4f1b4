#pragma once

#include <cstdint>
#include <vector>

#include "decoder/plan/plan.h"

namespace headroom {

// Blocks of attention on the CPU. The planner counts memory by them, and the device computes by them.

/// One call of softmax(q kᵀ) v for the queries of one frame: chunks of keys one after the other, and for each
/// of them all queries, blocks of which are shared out to threads while the next chunk is packed. Scores
/// exist for one block and one chunk at a time (online softmax: Milakov and Gimelshein 2018,
/// arXiv:1805.02867; in blocks: Dao et al. 2022, arXiv:2205.14135).
///
///                 keys of one chunk, packed once for all threads
///               +-----------+
///     queries   |  scores   |   weights · values of the chunk -> sums of the block, in the target
///     of a      |  of a     |
///     block     |  thread   |
///               +-----------+
struct AttentionWork {
  int64_t queries = 0;  ///< of the call
  int64_t chunk = 0;    ///< keys at one time
  int64_t block = 0;    ///< queries at one time on one thread
  int64_t channels = 0;
  int64_t chunks_at_once = 1;  ///< that are packed: two where there are several

  int64_t packed_keys() const { return (chunk + 15) / 16 * 16; }
  int64_t packed_channels() const { return (channels + 15) / 16 * 16; }

  // Floats of the workspace's buffers, which lie one after another.
  int64_t key_floats() const { return packed_keys() * channels; }     ///< of one chunk
  int64_t value_floats() const { return chunk * packed_channels(); }  ///< of one chunk
  int64_t score_floats() const { return block * packed_keys(); }      ///< of one thread
  int64_t row_floats() const { return 2 * queries; }  ///< largest score and sum of weights of each query
  int64_t floats(int64_t threads) const {
    return chunks_at_once * (key_floats() + value_floats()) + threads * score_floats() + row_floats();
  }
};

/// `queries` are positions of one frame, `keys` those of all frames that it attends to.
AttentionWork attention_work(int64_t queries, int64_t keys, int64_t channels);

/// True if an attention can take its keys and values block by block, so that they may live in a lower tier.
/// Its frames must not be interleaved, and nothing else may read either tensor.
bool takes_keys_by_block(const Graph& graph, const Op& op);
/// Keys and values of the pass's attention among the tensors in `below`, which live in a lower tier.
std::vector<TensorId> staged_in(const Pass& pass, const std::vector<TensorId>& below);

}  // namespace headroom
