#include <cmath>

#include "decoder/gpu/kernels/attention.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kQueries = 32, kKeys = 64;
// For scores, each warp computes half the queries and a quarter of the keys. For results, each warp computes
// eight queries.
constexpr int kWarpRows = 2, kWarpColumns = 4;
constexpr int kKeyChannels = 32, kQueriesOfResult = 8,
              kThreadsOfResult = kThreads / (kQueries / kQueriesOfResult);

// A thread holds the result of eight queries × kMostChannels / 64 channels. Products of weights and values
// take 10 cycles of shared memory for 16 of multiplication; scores take 6 for 8. Loading keys and values adds
// a seventh. So multiplication is the bottleneck on every GPU. Two blocks per multiprocessor hide latency if
// shared memory has room (93 KiB each).
template <int kMostChannels_>
struct Tile {
  static constexpr int kMostChannels = kMostChannels_;
  static constexpr int kVectors = kMostChannels / kThreadsOfResult / 4;
  // Rows are padded by four floats, so that reads down a column avoid bank conflicts.
  static constexpr int kQueryPitch = kMostChannels + 4, kKeyPitch = kKeyChannels + 4,
                       kWeightPitch = kQueries + 4;
  static constexpr int kValueRows = 2048 / kMostChannels;
  static constexpr int kStageFloats = kKeys * kKeyPitch;
  static_assert(kValueRows * kMostChannels <= kStageFloats);

  static constexpr int kWeights = kQueries * kQueryPitch;  // [keys][queries]
  static constexpr int kMaxima = kWeights + kKeys * kWeightPitch;
  static constexpr int kFirstStage = kMaxima + 2 * kQueries * kWarpColumns;
  static constexpr int kSharedBytes = (kFirstStage + 2 * kStageFloats) * 4;
};

/// True if values are fp32 and can be copied in vectors of four.
bool in_vectors(const View& view) {
  return view.dtype == Dtype::fp32 && takes_vectors(view, 4);
}

/// Loads values of one or more frames as fp32: asynchronous vector copies if possible, else one by one.
template <bool kInVectors>
class Source {
 public:
  __device__ Source(const View& view, bool interleaved, int32_t first_frame)
      : view_(view), positions_(view, first_frame), interleaved_(interleaved), frame_(first_frame) {}

  /// Copies kRows positions from `first` on, kColumns channels from `channel` on. Missing ones become zero.
  template <int kRows, int kColumns, int kPitch>
  __device__ __forceinline__ void copy(float* tile, int first, int count, int channel) {
    constexpr int kVectors = kColumns / 4, kRowsAtOnce = kThreads / kVectors;
    static_assert(kThreads % kVectors == 0 && kRows % kRowsAtOnce == 0);
    const int row = static_cast<int>(threadIdx.x) / kVectors,
              column = static_cast<int>(threadIdx.x) % kVectors * 4;
    float* const to = tile + row * kPitch + column;
    const bool within = channel + column < view_.channels;
    if constexpr (kInVectors) {
      if (first < count) positions_.seek(static_cast<uint32_t>(first));
      if (first + kRows <= count && positions_.holds(first, kRows)) {
        const std::byte* from = positions_.at_sought(first + row) + (within ? channel + column : 0) * 4;
#pragma unroll
        for (int i = 0; i < kRows; i += kRowsAtOnce, from += kRowsAtOnce * positions_.bytes())
          cp_async_16(to + i * kPitch, from, within);
        return;
      }
#pragma unroll 1
      for (int i = 0; i < kRows; i += kRowsAtOnce) {
        const int n = first + row + i;
        const std::byte* const from = positions_.at(n < count ? n : count - 1);
        cp_async_16(to + i * kPitch, from + (within ? channel + column : 0) * 4, within && n < count);
      }
    } else {
      for (int i = 0; i < kRows; i += kRowsAtOnce) {
        for (int e = 0; e < 4; ++e) {
          const int n = first + row + i, c = channel + column + e;
          const bool present = n < count && c < view_.channels;
          to[i * kPitch + e] = present ? load_value(view_.dtype, place(n, c)) : 0;
        }
      }
    }
  }

 private:
  __device__ const std::byte* place(int n, int channel) const {
    const int of_frame = static_cast<int>(positions_of(view_)), frame = n / of_frame;
    return value_at(view_, interleaved_, frame_ + frame, n - frame * of_frame, channel);
  }

  const View& view_;
  Positions positions_;
  bool interleaved_;
  int32_t frame_;  ///< the first
};

__device__ __forceinline__ float4 vector_at(const float* from) {
  return *reinterpret_cast<const float4*>(from);
}

template <typename Tile, bool kInVectors>
__global__ void __launch_bounds__(kThreads, kInVectors ? 2 : 1)
    attend_in_fp32(const __grid_constant__ Attend call) {
  float* const queries = shared_memory<float>();
  float* const weights = queries + Tile::kWeights;
  float* const maxima = queries + Tile::kMaxima;
  float* const stages = queries + Tile::kFirstStage;

  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  // Scores of two queries and four keys: first_score and eight further on, first_key and every fourth.
  const int first_score = warp / kWarpColumns * (kQueries / kWarpRows) + lane / 4;
  const int first_key = warp % kWarpColumns * (kKeys / kWarpColumns) + lane % 4;
  const int first_result = thread / kThreadsOfResult * kQueriesOfResult,
            first_channel = thread % kThreadsOfResult * 4;

  const int channels = call.queries.channels, value_channels = call.values.channels;
  const int query_count = static_cast<int>(positions_of(call.queries)),
            count = static_cast<int>(keys_of(call));
  const int first_query = static_cast<int>(blockIdx.x) * kQueries;
  const int key_stages = (channels + kKeyChannels - 1) / kKeyChannels;
  constexpr int kValueStages = kKeys / Tile::kValueRows;

  Source<kInVectors>(call.queries, call.interleaved, call.query_frame)
      .template copy<kQueries, Tile::kMostChannels, Tile::kQueryPitch>(queries, first_query, query_count, 0);
  Source<kInVectors> keys(call.keys, call.interleaved, call.key_frames.begin),
      values(call.values, call.interleaved, call.key_frames.begin);

  // Stage `next` of the keys and values from `next_key` on is copied while the one before is used.
  int next_key = 0, next = 0, slot = 0;
  const auto copy_next = [&] {
    float* const stage = stages + slot * Tile::kStageFloats;
    if (next_key < count) {
      if (next < key_stages) {
        keys.template copy<kKeys, kKeyChannels, Tile::kKeyPitch>(stage, next_key, count, next * kKeyChannels);
      } else {
        const int row = next_key + (next - key_stages) * Tile::kValueRows;
        values.template copy<Tile::kValueRows, Tile::kMostChannels, Tile::kMostChannels>(stage, row, count,
                                                                                         0);
      }
      if (++next == key_stages + kValueStages) next = 0, next_key += kKeys;
    }
    cp_async_commit();
    slot = 1 - slot;
  };
  const auto next_stage = [&] {
    cp_async_wait<0>();
    __syncthreads();
    copy_next();
    return static_cast<const float*>(stages + slot * Tile::kStageFloats);
  };
  copy_next();

  // Largest score so far of each query and quarter of the keys: after this tile of keys, and after the
  // previous one.
  float *largest_now = maxima, *largest_before = maxima + kQueries * kWarpColumns;
  const AttentionState& state = call.state;
  if (thread < kQueries * kWarpColumns) {
    const int n = first_query + thread / kWarpColumns;
    const bool known = !call.first && thread % kWarpColumns == 0 && n < query_count;
    largest_now[thread] = known ? state.largest[n] : -INFINITY;
  }
  const auto largest_of = [](const float* found, int row) {
    const float4 quarters = vector_at(found + row * kWarpColumns);
    return fmaxf(fmaxf(quarters.x, quarters.y), fmaxf(quarters.z, quarters.w));
  };

  float results[kQueriesOfResult][Tile::kVectors][4] = {};
  float score_largest[2] = {-INFINITY, -INFINITY}, sums[2] = {};
  if (!call.first) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int n = first_query + first_score + i * 8;
      if (n >= query_count) continue;
      score_largest[i] = state.largest[n];
      if (lane % 4 == 0 && warp % kWarpColumns == 0) sums[i] = state.weights[n];
    }
#pragma unroll
    for (int i = 0; i < kQueriesOfResult; ++i) {
      const int n = first_query + first_result + i;
#pragma unroll
      for (int j = 0; j < Tile::kVectors; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int channel = first_channel + j * kThreadsOfResult * 4 + e;
          if (n < query_count && channel < value_channels)
            results[i][j][e] = state.sums[int64_t{n} * value_channels + channel];
        }
      }
    }
  }

  for (int begin = 0; begin < count; begin += kKeys) {
    float scores[2][4] = {};
    for (int stage = 0; stage < key_stages; ++stage) {
      const float *tile = next_stage() + first_key * Tile::kKeyPitch,
                  *of_stage = queries + first_score * Tile::kQueryPitch + stage * kKeyChannels;
#pragma unroll 1  // unrolling would need too many registers
      for (int k = 0; k < kKeyChannels; k += 4) {
        float4 a[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) a[i] = vector_at(of_stage + i * 8 * Tile::kQueryPitch + k);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const float4 b = vector_at(tile + j * 4 * Tile::kKeyPitch + k);
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            scores[i][j] = fmaf(a[i].x, b.x, scores[i][j]);
            scores[i][j] = fmaf(a[i].y, b.y, scores[i][j]);
            scores[i][j] = fmaf(a[i].z, b.z, scores[i][j]);
            scores[i][j] = fmaf(a[i].w, b.w, scores[i][j]);
          }
        }
      }
    }

    // Online softmax, as in attention_tensor_cores.cu: base-2 scores, their maximum, weights relative to it.
    float* const other = largest_now;
    largest_now = largest_before, largest_before = other;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float largest = score_largest[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        scores[i][j] = begin + first_key + j * 4 < count ? scores[i][j] * kLog2OfE : -INFINITY;
        largest = fmaxf(largest, scores[i][j]);
      }
      largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 1));
      largest = fmaxf(largest, __shfl_xor_sync(kAllLanes, largest, 2));
      if (lane % 4 == 0) largest_now[(first_score + i * 8) * kWarpColumns + warp % kWarpColumns] = largest;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float largest = largest_of(largest_now, first_score + i * 8);
      sums[i] *= exp2f(score_largest[i] - largest);
      score_largest[i] = largest;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float weight = exp2f(scores[i][j] - largest);
        sums[i] += weight;
        weights[(first_key + j * 4) * Tile::kWeightPitch + first_score + i * 8] = weight;
      }
    }
#pragma unroll
    for (int i = 0; i < kQueriesOfResult; ++i) {
      const float before = largest_of(largest_before, first_result + i),
                  factor = exp2f(before - largest_of(largest_now, first_result + i));
#pragma unroll
      for (int j = 0; j < Tile::kVectors; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) results[i][j][e] *= factor;
      }
    }

    for (int stage = 0; stage < kValueStages; ++stage) {
      const float *tile = next_stage() + first_channel,
                  *of_stage = weights + stage * Tile::kValueRows * Tile::kWeightPitch + first_result;
#pragma unroll
      for (int k = 0; k < Tile::kValueRows; ++k) {
        const float4 low = vector_at(of_stage + k * Tile::kWeightPitch),
                     high = vector_at(of_stage + k * Tile::kWeightPitch + 4);
        const float a[kQueriesOfResult] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int j = 0; j < Tile::kVectors; ++j) {
          const float4 b = vector_at(tile + k * Tile::kMostChannels + j * kThreadsOfResult * 4);
#pragma unroll
          for (int i = 0; i < kQueriesOfResult; ++i) {
            results[i][j][0] = fmaf(a[i], b.x, results[i][j][0]);
            results[i][j][1] = fmaf(a[i], b.y, results[i][j][1]);
            results[i][j][2] = fmaf(a[i], b.z, results[i][j][2]);
            results[i][j][3] = fmaf(a[i], b.w, results[i][j][3]);
          }
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < 2; ++i) {
    sums[i] += __shfl_xor_sync(kAllLanes, sums[i], 1);
    sums[i] += __shfl_xor_sync(kAllLanes, sums[i], 2);
    if (lane % 4 == 0) largest_before[(first_score + i * 8) * kWarpColumns + warp % kWarpColumns] = sums[i];
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kQueriesOfResult; ++i) {
    const int n = first_query + first_result + i;
    if (n >= query_count) continue;
    const float4 found = vector_at(largest_before + (first_result + i) * kWarpColumns);
    const float sum = found.x + found.y + found.z + found.w, factor = 1 / sum;
    if (!call.last && first_channel == 0) {
      state.weights[n] = sum;
      state.largest[n] = largest_of(largest_now, first_result + i);
    }
#pragma unroll
    for (int j = 0; j < Tile::kVectors; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int channel = first_channel + j * kThreadsOfResult * 4 + e;
        if (channel < value_channels && !call.last) {
          state.sums[int64_t{n} * value_channels + channel] = results[i][j][e];
        } else if (channel < value_channels) {
          store_value(call.target.dtype,
                      value_at(call.target, call.interleaved, call.target_frame, n, channel),
                      results[i][j][e] * factor);
        }
      }
    }
  }
}

template <typename Tile>
void attend_in(const Attend& call, StreamHandle stream) {
  const auto blocks = static_cast<uint32_t>((positions_of(call.queries) + kQueries - 1) / kQueries);
  const Launch how{"attention in fp32", dim3(blocks), dim3(kThreads), Tile::kSharedBytes, stream};
  const bool vectors =
      !call.interleaved && in_vectors(call.queries) && in_vectors(call.keys) && in_vectors(call.values);
  vectors ? launch(how, attend_in_fp32<Tile, true>, call) : launch(how, attend_in_fp32<Tile, false>, call);
}

}  // namespace

bool attends_by_tiles(const Attend& call) {
  for (const View* view : {&call.queries, &call.keys, &call.values, &call.target}) {
    if (view->channels > 512 || positions_of(*view) > kMostPositions) return false;
  }
  return keys_of(call) <= kMostPositions;
}

void attend_by_tiles(const Attend& call, StreamHandle stream) {
  const bool narrow = call.queries.channels <= 256 && call.values.channels <= 256;
  narrow ? attend_in<Tile<256>>(call, stream) : attend_in<Tile<512>>(call, stream);
}

}  // namespace headroom::gpu
