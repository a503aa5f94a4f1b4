#include <algorithm>
#include <cmath>

#include "decoder/gpu/kernels/attention.h"
#include "decoder/gpu/kernels/fragments.h"
#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;

/// Tile sizes of a thread block: kQueries queries, kKeys keys at a time. The result, up to kMostChannels
/// channels, stays in registers. Keys and values are loaded in stages: kKeyChannels channels of all keys,
/// then kValueRows values at a time. kStages stages are in shared memory or in flight. If keys and values are
/// one tensor (kOneTensor), a stage has all channels of a tile of keys, and they serve as values too.
///
/// Each warp computes the scores of half the queries with one of kWarpColumns parts of the keys, over one of
/// kDepths parts of the channels.
template <int kQueries_, int kKeys_, int kMostChannels_, int kKeyChannels_, int kValueRows_, int kStages_,
          bool kOneTensor_ = false>
struct Tile {
  static constexpr int kQueries = kQueries_, kKeys = kKeys_, kMostChannels = kMostChannels_;
  static constexpr int kKeyChannels = kKeyChannels_, kValueRows = kValueRows_, kStages = kStages_;
  static constexpr bool kOneTensor = kOneTensor_;
  static constexpr int kWarpRows = 2, kDepths = kOneTensor ? 2 : 1;
  static constexpr int kWarpColumns = kWarps / kWarpRows / kDepths;

  static constexpr int kQueryPitch = 2 * kMostChannels, kKeyPitch = 2 * kKeyChannels;
  static constexpr int kValuePitch = 2 * kMostChannels, kWeightPitch = 2 * kKeys;
  static constexpr int kKeyBytes = kKeys * kKeyPitch, kValueBytes = kValueRows * kValuePitch;
  static constexpr int kStageBytes = kKeyBytes > kValueBytes ? kKeyBytes : kValueBytes;

  static constexpr int kWeights = kQueries * kQueryPitch;
  static constexpr int kMaxima = kWeights + kQueries * kWeightPitch;
  static constexpr int kExchange = kMaxima + 2 * kQueries * kWarpColumns * 4;
  static constexpr int kFirstStage = kExchange + (kDepths - 1) * kQueries * kKeys * 4;
  static constexpr int kSharedBytes = kFirstStage + kStages * kStageBytes;

  // Number of 16 × 8 products per warp: rows of partial scores, and of the scores that the warp then owns.
  static constexpr int kPartialRows = kQueries / kWarpRows / 16, kScoreRows = kPartialRows / kDepths;
  static constexpr int kScoreColumns = kKeys / kWarpColumns / 8;
  static constexpr int kResultRows = kQueries / 16, kResultColumns = kMostChannels / kWarps / 8;
  static constexpr int kValueStages = kKeys / kValueRows;
};

// The result of 64 queries × 512 channels fills half of the register file, so more queries do not fit.
// Roofline for 64 keys of 512 channels, in cycles of an H200 multiprocessor:
// - Multiplication: 3300, at the 62 % of the tensor rate that mma reaches (wgmma, at the full rate: 2050).
// - Shared memory, for fragments and copies: 4100. Warps compute scores by 32 × 32 and results by 64 × 64.
// - L2 cache: about 4700 for 128 KiB at 28 bytes a cycle.
// So the L2 cache is the bottleneck, at 0.4 of the tensor rate. On an A100 the three are 4100, 4100 and 2800.
template <int kMostChannels, int kKeyChannels, int kValueRows, int kStages>
using WideTile = Tile<64, 128, kMostChannels, kKeyChannels, kValueRows, kStages>;
// With one tensor, L2 takes half: 2350 cycles. Shared memory is the bottleneck then, with 3850 cycles: 256
// KiB for scores, 32 for their exchange, 128 for results and 64 for copies. Without depths, warps would
// compute scores by 32 × 16, which takes 384 KiB instead of 256.
template <int kMostChannels>
using OneTensorTile = Tile<64, 64, kMostChannels, kMostChannels, 64, 2, true>;
// For GPUs with 99 KiB of shared memory (compute capability 8.6, 8.9, 12.0) and more than 256 channels: half
// the queries.
template <int kMostChannels>
using NarrowTile = Tile<32, 64, kMostChannels, 128, 16, 3>;

/// Starts copying kRows positions from `first` on, kChunks × 8 channels from `channel` on. Missing positions
/// and channels become zero.
template <int kRows, int kPitch, int kChunks>
__device__ __forceinline__ void copy_stage(std::byte* tile, Positions& positions, int first, int count,
                                           int channel, int channels) {
  // Each thread copies chunks kLanes apart, of rows kRowsAtOnce apart. These strides preserve the permutation
  // of chunks.
  constexpr int kLanes = kChunks < 16 ? kChunks : 16, kRowsAtOnce = kThreads / kLanes;
  static_assert(kRows % kRowsAtOnce == 0 && kChunks % kLanes == 0 && kLanes % 8 == 0 && kRowsAtOnce % 8 == 0);
  const int row = static_cast<int>(threadIdx.x) / kLanes, chunk = static_cast<int>(threadIdx.x) % kLanes;
  std::byte* const to = tile + chunk_offset<kPitch>(row, chunk);
  if (first < count) positions.seek(static_cast<uint32_t>(first));
  if (first + kRows <= count && positions.holds(first, kRows) && channel + kChunks * 8 <= channels) {
    const std::byte* from = positions.at_sought(first + row) + (channel + chunk * 8) * 2;
#pragma unroll
    for (int i = 0; i < kRows / kRowsAtOnce; ++i) {
#pragma unroll
      for (int j = 0; j < kChunks / kLanes; ++j)
        cp_async_16(to + i * kRowsAtOnce * kPitch + j * kLanes * 16, from + j * kLanes * 16);
      from += kRowsAtOnce * positions.bytes();
    }
    return;
  }
#pragma unroll 1
  for (int i = 0; i < kRows / kRowsAtOnce; ++i) {
    const int n = first + row + i * kRowsAtOnce;
    const std::byte* const from = positions.at(n < count ? n : count - 1);
#pragma unroll 1
    for (int j = 0; j < kChunks / kLanes; ++j) {
      const int begin = channel + (chunk + j * kLanes) * 8;
      const bool present = n < count && begin < channels;
      cp_async_16(to + i * kRowsAtOnce * kPitch + j * kLanes * 16, from + (present ? begin : 0) * 2, present);
    }
  }
}

/// Pipeline that loads keys and values into shared memory in stages. For each tile it loads the channels of
/// all keys, then the values. While one stage is used, the others are in flight.
template <typename Tile>
class Pipeline {
 public:
  __device__ __forceinline__ Pipeline(const Attend& call, std::byte* stages)
      : keys_(call.keys, call.key_frames.begin),
        values_(call.values, call.key_frames.begin),
        stages_(stages),
        channels_(call.queries.channels),
        count_(static_cast<int>(keys_of(call))),
        key_stages_((channels_ + Tile::kKeyChannels - 1) / Tile::kKeyChannels) {
#pragma unroll
    for (int i = 0; i < Tile::kStages - 1; ++i) copy_next();
  }

  /// Stages with the keys of one tile. Tile::kValueStages stages with its values follow, unless the keys are
  /// the values.
  __device__ __forceinline__ int key_stages() const {
    return key_stages_;
  }

  /// Waits for the next stage, and until all warps are done with the previous one. Starts another copy.
  __device__ __forceinline__ const std::byte* next() {
    cp_async_wait<Tile::kStages - 2>();
    __syncthreads();
    copy_next();
    used_ = used_ + 1 == Tile::kStages ? 0 : used_ + 1;
    return stages_ + used_ * Tile::kStageBytes;
  }
  /// The next stage of values. All warps have then stored their weights.
  __device__ __forceinline__ const std::byte* next_values() {
    if constexpr (Tile::kOneTensor) {
      __syncthreads();
      return stages_ + used_ * Tile::kStageBytes;
    } else {
      return next();
    }
  }

 private:
  __device__ __forceinline__ void copy_next() {
    std::byte* const stage = stages_ + slot_ * Tile::kStageBytes;
    if (next_key_ < count_) {
      if (next_ < key_stages_) {
        copy_stage<Tile::kKeys, Tile::kKeyPitch, Tile::kKeyChannels / 8>(
            stage, keys_, next_key_, count_, next_ * Tile::kKeyChannels, channels_);
      } else {
        const int row = next_key_ + (next_ - key_stages_) * Tile::kValueRows;
        copy_stage<Tile::kValueRows, Tile::kValuePitch, Tile::kMostChannels / 8>(stage, values_, row, count_,
                                                                                 0, channels_);
      }
      if (++next_ == key_stages_ + (Tile::kOneTensor ? 0 : Tile::kValueStages))
        next_ = 0, next_key_ += Tile::kKeys;
    }
    cp_async_commit();  // even if empty: cp_async_wait counts groups
    slot_ = slot_ + 1 == Tile::kStages ? 0 : slot_ + 1;
  }

  Positions keys_, values_;
  std::byte* const stages_;
  const int channels_, count_, key_stages_;
  int next_key_ = 0, next_ = 0;              ///< next copy: first key of the tile, stage within it
  int slot_ = 0, used_ = Tile::kStages - 1;  ///< buffers of the next copy and of the current stage
};

/// Work of a warp: scores of some queries and keys, and results of all queries in some channels.
template <typename Tile>
struct Share {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = lane_of(threadIdx.x);
  const int warp_column = warp % Tile::kWarpColumns, depth = warp / Tile::kWarpColumns % Tile::kDepths;
  const int first_partial = warp / (Tile::kWarpColumns * Tile::kDepths) * (Tile::kQueries / Tile::kWarpRows),
            first_score = first_partial + depth * Tile::kScoreRows * 16,
            first_key = warp_column * (Tile::kKeys / Tile::kWarpColumns);
  const int first_result = warp * (Tile::kMostChannels / kWarps);

  /// Query of row h (0 or 1) of this thread's product i: for scores, and for results.
  __device__ __forceinline__ int score_row(int i, int h) const {
    return first_score + i * 16 + h * 8 + lane / 4;
  }
  __device__ __forceinline__ int result_row(int i, int h) const { return i * 16 + h * 8 + lane / 4; }
};
template <typename Tile>
using PartialScores = float[Tile::kPartialRows][Tile::kScoreColumns][4];
template <typename Tile>
using Scores = float[Tile::kScoreRows][Tile::kScoreColumns][4];
template <typename Tile>
using Results = float[Tile::kResultRows][Tile::kResultColumns][4];

/// Scores of a tile of keys, over this warp's part of the channels.
template <typename T, typename Tile>
__device__ __forceinline__ void add_scores(PartialScores<Tile>& scores, const Share<Tile>& share,
                                           const std::byte* queries, Pipeline<Tile>& pipeline) {
  constexpr int kDepth = Tile::kKeyChannels / Tile::kDepths;
  static_assert(Tile::kDepths == 1 || kDepth % 64 == 0);
  const int query_offset = a_offset<Tile::kQueryPitch>(share.first_partial, share.depth * (kDepth / 8));
  const int key_offset = b_offset<Tile::kKeyPitch>(share.first_key, share.depth * (kDepth / 8));
  for (int stage = 0; stage < pipeline.key_stages(); ++stage) {
    const std::byte *tile = pipeline.next(), *of_stage = queries + stage * Tile::kKeyPitch;
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      uint32_t a[Tile::kPartialRows][4], b[Tile::kScoreColumns][2];
#pragma unroll
      for (int i = 0; i < Tile::kPartialRows; ++i)
        ldmatrix_x4(a[i], of_stage + moved<Tile::kQueryPitch>(query_offset, i * 16, k * 2));
#pragma unroll
      for (int j = 0; j < Tile::kScoreColumns; j += 2)
        load_pair(b[j], b[j + 1], tile + moved<Tile::kKeyPitch>(key_offset, j * 8, k * 2));
#pragma unroll
      for (int i = 0; i < Tile::kPartialRows; ++i) {
#pragma unroll
        for (int j = 0; j < Tile::kScoreColumns; ++j) mma_m16n8k16<T>(scores[i][j], a[i], b[j]);
      }
    }
  }
}

/// Adds up the partial scores of the two warps with the same queries and keys. Each of them owns half of the
/// queries, and passes the other half through shared memory.
template <typename Tile>
__device__ __forceinline__ void exchange_scores(const PartialScores<Tile>& partial, Scores<Tile>& scores,
                                                const Share<Tile>& share, std::byte* exchange) {
  static_assert(Tile::kDepths == 2 && Tile::kPartialRows == 2);
  const auto place = [&](int warp, int j) {
    return reinterpret_cast<float4*>(exchange) + (warp * Tile::kScoreColumns + j) * kWarp + share.lane;
  };
  const bool second = share.depth == 1;
#pragma unroll
  for (int j = 0; j < Tile::kScoreColumns; ++j) {
    float given[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      given[e] = second ? partial[0][j][e] : partial[1][j][e];
      scores[0][j][e] = second ? partial[1][j][e] : partial[0][j][e];
    }
    *place(share.warp, j) = {given[0], given[1], given[2], given[3]};
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < Tile::kScoreColumns; ++j) {
    const float4 other = *place(share.warp ^ Tile::kWarpColumns, j);
    scores[0][j][0] += other.x, scores[0][j][1] += other.y;
    scores[0][j][2] += other.z, scores[0][j][3] += other.w;
  }
}

template <typename Tile>
__device__ __forceinline__ void own_scores(const PartialScores<Tile>& partial, Scores<Tile>& scores,
                                           const Share<Tile>& share, std::byte* exchange) {
  if constexpr (Tile::kDepths > 1) {
    exchange_scores<Tile>(partial, scores, share, exchange);
  } else {
#pragma unroll
    for (int i = 0; i < Tile::kScoreRows; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kScoreColumns; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) scores[i][j][e] = partial[i][j][e];
      }
    }
  }
}

/// Weights times the values of a tile of keys.
template <typename T, typename Tile>
__device__ __forceinline__ void add_values(Results<Tile>& results, const Share<Tile>& share,
                                           const std::byte* weights, Pipeline<Tile>& pipeline) {
  for (int stage = 0; stage < Tile::kValueStages; ++stage) {
    const std::byte* tile = pipeline.next_values();
#pragma unroll
    for (int k = 0; k < Tile::kValueRows / 16; ++k) {
      uint32_t a[Tile::kResultRows][4];
#pragma unroll
      for (int i = 0; i < Tile::kResultRows; ++i) {
        ldmatrix_x4(a[i],
                    weights + a_offset<Tile::kWeightPitch>(i * 16, stage * (Tile::kValueRows / 8) + k * 2));
      }
#pragma unroll
      for (int j = 0; j < Tile::kResultColumns; j += 2) {
        uint32_t b[2][2];
        load_pair_transposed(b[0], b[1],
                             tile + b_offset_of_rows<Tile::kValuePitch>(k * 16, share.first_result / 8 + j));
#pragma unroll
        for (int i = 0; i < Tile::kResultRows; ++i) {
          mma_m16n8k16<T>(results[i][j], a[i], b[0]);
          mma_m16n8k16<T>(results[i][j + 1], a[i], b[1]);
        }
      }
    }
  }
}

/// The running maximum and sum of online softmax. Warps share maxima through shared memory: the largest score
/// so far for each query and warp column, after this tile and after the previous one.
template <typename Tile>
class OnlineSoftmax {
 public:
  __device__ __forceinline__ explicit OnlineSoftmax(float* maxima)
      : largest_now_(maxima), largest_before_(maxima + Tile::kQueries * Tile::kWarpColumns) {
    for (auto& row : largest_) row[0] = row[1] = -INFINITY;
    if (threadIdx.x < Tile::kQueries * Tile::kWarpColumns) largest_now_[threadIdx.x] = -INFINITY;
  }

  /// Continues from the state of earlier calls for `count` queries.
  __device__ __forceinline__ void load(const AttentionState& state, const Share<Tile>& share, int count) {
#pragma unroll
    for (int i = 0; i < Tile::kScoreRows; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = share.score_row(i, h);
        if (row >= count) continue;
        largest_[i][h] = state.largest[row];
        if (share.lane % 4 != 0 || share.warp_column != 0) continue;
        sums_[i][h] = state.weights[row];
        largest_now_[row * Tile::kWarpColumns] = state.largest[row];
      }
    }
  }

  /// Converts scores to base 2 and masks missing keys. Finds each query's largest score within this warp.
  __device__ __forceinline__ void find_largest(Scores<Tile>& scores, const Share<Tile>& share, int keys) {
    float* const other = largest_now_;
    largest_now_ = largest_before_, largest_before_ = other;
    const bool whole = Tile::kKeys <= keys;
#pragma unroll
    for (int i = 0; i < Tile::kScoreRows; ++i) {
      float largest[2] = {largest_[i][0], largest_[i][1]};
#pragma unroll
      for (int j = 0; j < Tile::kScoreColumns; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          float& score = scores[i][j][e];
          score *= kLog2OfE;
          if (!whole && share.first_key + j * 8 + share.lane % 4 * 2 + e % 2 >= keys) score = -INFINITY;
          largest[e / 2] = fmaxf(largest[e / 2], score);
        }
      }
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        largest[h] = fmaxf(largest[h], __shfl_xor_sync(kAllLanes, largest[h], 1));
        largest[h] = fmaxf(largest[h], __shfl_xor_sync(kAllLanes, largest[h], 2));
        if (share.lane % 4 == 0)
          largest_now_[share.score_row(i, h) * Tile::kWarpColumns + share.warp_column] = largest[h];
      }
    }
    __syncthreads();
  }

  /// Computes 16-bit weights relative to the new largest score. Sums them before rounding.
  template <typename T>
  __device__ __forceinline__ void weigh(const Scores<Tile>& scores, const Share<Tile>& share,
                                        std::byte* weights) {
#pragma unroll
    for (int i = 0; i < Tile::kScoreRows; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = share.score_row(i, h);
        const float largest = largest_of(largest_now_, row);
        sums_[i][h] *= power_of_2(largest_[i][h] - largest);
        largest_[i][h] = largest;
#pragma unroll
        for (int j = 0; j < Tile::kScoreColumns; ++j) {
          const float first = power_of_2(scores[i][j][2 * h] - largest),
                      second = power_of_2(scores[i][j][2 * h + 1] - largest);
          sums_[i][h] += first + second;
          std::byte* const to =
              weights + chunk_offset<Tile::kWeightPitch>(row, share.first_key / 8 + j) + share.lane % 4 * 4;
          *reinterpret_cast<uint32_t*>(to) = packed<T>(first, second);
        }
      }
    }
  }

  /// Rescales the results so far to the new largest scores.
  __device__ __forceinline__ void rescale(Results<Tile>& results, const Share<Tile>& share) const {
    bool changed = false;
    float factors[Tile::kResultRows][2];
#pragma unroll
    for (int i = 0; i < Tile::kResultRows; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = share.result_row(i, h);
        const float before = largest_of(largest_before_, row), now = largest_of(largest_now_, row);
        changed |= before != now;
        factors[i][h] = power_of_2(before - now);
      }
    }
    if (!changed) return;
#pragma unroll
    for (int i = 0; i < Tile::kResultRows; ++i) {
#pragma unroll
      for (int j = 0; j < Tile::kResultColumns; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) results[i][j][e] *= factors[i][e / 2];
      }
    }
  }

  /// Adds up the weight sums of all threads of a query. Overwrites the maxima, so no more keys can follow.
  __device__ __forceinline__ void gather_sums(const Share<Tile>& share) {
#pragma unroll
    for (int i = 0; i < Tile::kScoreRows; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        sums_[i][h] += __shfl_xor_sync(kAllLanes, sums_[i][h], 1);
        sums_[i][h] += __shfl_xor_sync(kAllLanes, sums_[i][h], 2);
        if (share.lane % 4 == 0)
          largest_before_[share.score_row(i, h) * Tile::kWarpColumns + share.warp_column] = sums_[i][h];
      }
    }
    __syncthreads();
  }
  /// The sum of a query's weights.
  __device__ __forceinline__ float sum_of(int row) const {
    return joined(largest_before_, row, [](float a, float b) { return a + b; });
  }
  __device__ __forceinline__ float largest_of(int row) const {
    return largest_of(largest_now_, row);
  }

 private:
  /// Joins the values of a query, one for each warp column.
  template <typename Join>
  __device__ __forceinline__ static float joined(const float* found, int row, const Join& join) {
    const float* const of_row = found + row * Tile::kWarpColumns;
    if constexpr (Tile::kWarpColumns == 4) {
      const float4 four = *reinterpret_cast<const float4*>(of_row);
      return join(join(join(four.x, four.y), four.z), four.w);
    } else {
      static_assert(Tile::kWarpColumns == 2);
      return join(of_row[0], of_row[1]);
    }
  }
  __device__ __forceinline__ static float largest_of(const float* found, int row) {
    return joined(found, row, [](float a, float b) { return fmaxf(a, b); });
  }

  // For rows lane / 4 and lane / 4 + 8 of every 16 scores: the largest score so far, and the sum of this
  // thread's weights.
  float largest_[Tile::kScoreRows][2], sums_[Tile::kScoreRows][2] = {};
  float *largest_now_, *largest_before_;
};

template <typename T, typename Tile>
__device__ __forceinline__ void store_results(const Results<Tile>& results, const Share<Tile>& share,
                                              const OnlineSoftmax<Tile>& softmax, const Attend& call,
                                              int first_query) {
  const int count = static_cast<int>(positions_of(call.queries));
#pragma unroll
  for (int i = 0; i < Tile::kResultRows; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = share.result_row(i, h);
      if (first_query + row >= count) continue;
      const float factor = 1 / softmax.sum_of(row);
      std::byte* const to = value_at(call.target, false, call.target_frame, first_query + row,
                                     share.first_result + share.lane % 4 * 2);
#pragma unroll
      for (int j = 0; j < Tile::kResultColumns; ++j) {
        if (share.first_result + j * 8 >= call.queries.channels) break;
        *reinterpret_cast<uint32_t*>(to + j * 16) =
            packed<T>(results[i][j][2 * h] * factor, results[i][j][2 * h + 1] * factor);
      }
    }
  }
}

/// Calls `go(sums, values)` for each pair of a thread's results and its place in the stored `sums`, for
/// `count` queries. Stores results between calls, or loads them.
template <typename Tile, typename Go>
__device__ __forceinline__ void for_each_sum(Results<Tile>& results, const Share<Tile>& share, float* sums,
                                             int channels, int count, const Go& go) {
#pragma unroll
  for (int i = 0; i < Tile::kResultRows; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = share.result_row(i, h);
      if (row >= count) continue;
      float* const from =
          sums + static_cast<int64_t>(row) * channels + share.first_result + share.lane % 4 * 2;
#pragma unroll
      for (int j = 0; j < Tile::kResultColumns; ++j) {
        if (share.first_result + j * 8 >= channels) break;
        go(from + j * 8, results[i][j] + 2 * h);
      }
    }
  }
}

template <typename Tile>
__device__ __forceinline__ void store_state(Results<Tile>& results, const Share<Tile>& share,
                                            const OnlineSoftmax<Tile>& softmax, const AttentionState& state,
                                            int channels, int count) {
  for_each_sum<Tile>(results, share, state.sums, channels, count, [](float* sums, const float* values) {
    sums[0] = values[0];
    sums[1] = values[1];
  });
  for (int row = static_cast<int>(threadIdx.x); row < Tile::kQueries && row < count; row += kThreads) {
    state.largest[row] = softmax.largest_of(row);
    state.weights[row] = softmax.sum_of(row);
  }
}

template <typename T, typename Tile>
__global__ void __launch_bounds__(kThreads, 1) attend_tiles(const __grid_constant__ Attend call) {
  std::byte* const queries = shared_memory<std::byte>();
  std::byte* const weights = queries + Tile::kWeights;
  const int first_query = static_cast<int>(blockIdx.x) * Tile::kQueries;
  {
    Positions from(call.queries, call.query_frame);
    copy_stage<Tile::kQueries, Tile::kQueryPitch, Tile::kMostChannels / 8>(
        queries, from, first_query, static_cast<int>(positions_of(call.queries)), 0, call.queries.channels);
  }
  Pipeline<Tile> pipeline(call, queries + Tile::kFirstStage);
  const Share<Tile> share;
  OnlineSoftmax<Tile> softmax(reinterpret_cast<float*>(queries + Tile::kMaxima));
  Results<Tile> results = {};
  const int left = static_cast<int>(positions_of(call.queries)) - first_query,
            channels = call.queries.channels;
  AttentionState state{};  // empty if all keys come in one call
  if (call.state.sums != nullptr) {
    state = {call.state.sums + static_cast<int64_t>(first_query) * channels, call.state.largest + first_query,
             call.state.weights + first_query};
  }
  if (!call.first) {
    __syncthreads();  // maxima are set
    softmax.load(state, share, left);
    for_each_sum<Tile>(results, share, state.sums, channels, left, [](const float* sums, float* values) {
      values[0] = sums[0];
      values[1] = sums[1];
    });
  }
  const int keys = static_cast<int>(keys_of(call));
  for (int begin = 0; begin < keys; begin += Tile::kKeys) {
    PartialScores<Tile> partial = {};
    add_scores<T>(partial, share, queries, pipeline);
    Scores<Tile> scores;
    own_scores<Tile>(partial, scores, share, queries + Tile::kExchange);
    softmax.find_largest(scores, share, keys - begin);
    softmax.template weigh<T>(scores, share, weights);
    softmax.rescale(results, share);
    add_values<T>(results, share, weights, pipeline);
  }
  softmax.gather_sums(share);
  if (!call.last) return store_state<Tile>(results, share, softmax, state, channels, left);
  store_results<T>(results, share, softmax, call, first_query);
}

template <typename T, typename Tile>
void attend_in(const Attend& call, StreamHandle stream) {
  const auto blocks =
      static_cast<uint32_t>((positions_of(call.queries) + Tile::kQueries - 1) / Tile::kQueries);
  launch({"attention", dim3(blocks), dim3(kThreads), Tile::kSharedBytes, stream}, attend_tiles<T, Tile>,
         call);
}

bool fits(size_t bytes) {
  return bytes <= most_shared_bytes();
}

template <typename T>
void attend_in_dtype(const Attend& call, StreamHandle stream) {
  const int32_t channels = call.queries.channels;
  if (attends_to_one_tensor(call)) {
    channels <= 384 ? attend_in<T, OneTensorTile<384>>(call, stream)
                    : attend_in<T, OneTensorTile<512>>(call, stream);
  } else if (channels <= 128) {
    attend_in<T, WideTile<128, 64, 64, 4>>(call, stream);
  } else if (channels <= 256) {
    attend_in<T, WideTile<256, 64, 32, 3>>(call, stream);
  } else if (channels <= 384) {
    using Wide = WideTile<384, 128, 32, 3>;
    fits(Wide::kSharedBytes) ? attend_in<T, Wide>(call, stream) : attend_in<T, NarrowTile<384>>(call, stream);
  } else {
    using Widest = WideTile<512, 128, 32, 3>;
    using Wide = WideTile<512, 128, 32, 2>;
    if (fits(Widest::kSharedBytes)) {
      attend_in<T, Widest>(call, stream);
    } else if (fits(Wide::kSharedBytes)) {
      attend_in<T, Wide>(call, stream);
    } else {
      attend_in<T, NarrowTile<512>>(call, stream);
    }
  }
}

bool are_one_tensor(const View& one, const View& other) {
  const auto same = [](const Span& a, const Span& b) { return a.begin == b.begin && a.end == b.end; };
  return one.base == other.base && same(one.region.t, other.region.t) && same(one.region.y, other.region.y) &&
         same(one.region.x, other.region.x) && one.channels == other.channels &&
         one.block_rows == other.block_rows && one.blocks == other.blocks && one.dtype == other.dtype &&
         std::equal(one.block_units, one.block_units + one.blocks, other.block_units);
}

}  // namespace

bool attends_by_tensor_cores(const Attend& call) {
  const int32_t channels = call.queries.channels;
  const Dtype dtype = call.queries.dtype;
  for (const View* view : {&call.queries, &call.keys, &call.values, &call.target}) {
    if (view->channels != channels || view->dtype != dtype || positions_of(*view) > kMostPositions)
      return false;
  }
  return dtype != Dtype::fp32 && !call.interleaved && keys_of(call) <= kMostPositions && channels % 16 == 0 &&
         channels <= 512;
}

bool attends_to_one_tensor(const Attend& call) {
  const int32_t channels = call.queries.channels;
  return attends_by_tensor_cores(call) && are_one_tensor(call.keys, call.values) && channels > 256 &&
         fits(channels <= 384 ? OneTensorTile<384>::kSharedBytes : OneTensorTile<512>::kSharedBytes);
}

void attend_by_tensor_cores(const Attend& call, StreamHandle stream) {
  if (call.queries.dtype == Dtype::fp16) {
    attend_in_dtype<Half>(call, stream);
  } else {
    attend_in_dtype<Bfloat16>(call, stream);
  }
}

}  // namespace headroom::gpu
