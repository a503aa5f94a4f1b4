#pragma once

#include <cstdint>
#include <vector>

#include "decoder/cpu/call_share.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/graph/graph.h"
#include "decoder/interpreter/device.h"
#include "decoder/interpreter/map_view.h"

namespace headroom {

/// Inputs of attention: a tile of queries with one block for each item, and all keys and values.
struct AttentionInputs {
  const MapView& queries;
  const MapView& keys;
  const MapView& values;
};

/// Computes softmax(q kᵀ) v on all threads, into a tile with the queries' rows and columns. Each
/// frame attends to its attended_frames(). Interleaved frames are gathered first. Keys and values may be
/// stored in 16 bits; all else is fp32. Keys are read frame by frame, in chunks that depend
/// neither on the block layout nor on the queries. So results do not depend on them either. Allocates
/// attention_work() of the last frame from the pool, plus two tiles of one frame if frames are interleaved.
/// Throws LimitExceeded.
void attend(LimitedPool& pool, const AttentionInputs& inputs, AttentionFrames frames, const MapView& target,
            int64_t items, const ToldShare& told = {});

/// Heads of linear attention. Each has q, k and v of `channels` values side by side. Heads lie one after
/// another in the first input, then in the second and so on.
struct LinearHeads {
  int64_t heads = 0;
  int64_t channels = 0;
};

/// For each head of each batch item the sums over positions of relu(k) vᵀ and of relu(k), gathered tile by
/// tile; each position counts once.
class KeyValueSums {
 public:
  KeyValueSums(int64_t items, const LinearHeads& heads);

  /// Adds a region of every item. Up to 64 pixels of a row are summed in fp32, and these sums are added in
  /// double. The order does not depend on the number of threads.
  void add(const std::vector<MapView>& inputs, const Region& region, int64_t items);
  /// False where a NaN or an infinity went in.
  bool finite() const;

  const LinearHeads& heads() const { return heads_; }
  /// Row i holds the sums of relu(k_i) times each channel of v, then the sum of relu(k_i).
  const double* of(int64_t item, int64_t head) const {
    return sums_.data() + (item * heads_.heads + head) * floats_of_head();
  }
  const std::vector<double>& values() const { return sums_; }
  void set_values(const std::vector<double>& values) { sums_ = values; }

 private:
  int64_t floats_of_head() const { return heads_.channels * (heads_.channels + 1); }
  LinearHeads heads_;
  std::vector<double> sums_;
};

/// Sums over keys and values, and the epsilon that linear attention adds to its divisor.
struct LinearAttentionSums {
  const KeyValueSums& sums;
  double epsilon = 0;
};

/// Writes relu(q) Σ relu(k) vᵀ / (relu(q) Σ relu(k) + epsilon) into a region of `target`, whose channels are
/// those of all heads. Takes linear_attention_floats() from the pool.
void attend_linearly(LimitedPool& pool, const std::vector<MapView>& inputs, const LinearAttentionSums& over,
                     const MapView& target, const Region& region, int64_t items);

}  // namespace headroom
