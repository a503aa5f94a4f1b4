#include "decoder/gpu/kernels/attention.h"
#include "decoder/gpu/kernels/kernels.h"

#include <cmath>

namespace headroom::gpu {
namespace {

constexpr int kThreads = 128;

/// A thread block computes one query; each thread computes one channel of the result. Scores are computed one
/// key per thread.
__global__ void __launch_bounds__(kThreads) attend_query(const __grid_constant__ Attend call) {
  float* const scores = shared_memory<float>();
  float* const gathered = scores + kThreads;  // one for each warp
  const int thread = static_cast<int>(threadIdx.x);
  const auto gather = [&](float value, auto&& join) {
    for (int distance = 16; distance > 0; distance /= 2)
      value = join(value, __shfl_xor_sync(kAllLanes, value, distance));
    __syncthreads();
    if (thread % kWarp == 0) gathered[thread / kWarp] = value;
    __syncthreads();
    value = gathered[0];
    for (int i = 1; i < kThreads / kWarp; ++i) value = join(value, gathered[i]);
    return value;
  };

  const int64_t query = blockIdx.x, count = keys_of(call);
  const AttentionState& state = call.state;
  float largest = -INFINITY, sum = 0;
  // With a stored state one block computes all slices of channels: separate blocks would overwrite the state
  // that others still read.
  for (auto slice = static_cast<int32_t>(blockIdx.y) * kThreads; slice < call.values.channels;
       slice += static_cast<int32_t>(gridDim.y) * kThreads) {
    const int32_t channel = slice + thread;
    const bool present = channel < call.values.channels;
    float result = call.first || !present ? 0 : state.sums[query * call.values.channels + channel];
    largest = call.first ? -INFINITY : state.largest[query];
    sum = call.first ? 0 : state.weights[query];
    for (int64_t begin = 0; begin < count; begin += kThreads) {
      const int64_t key = begin + thread;
      float score = -INFINITY;
      if (key < count) {
        float dot = 0;
        for (int32_t c = 0; c < call.queries.channels; ++c) {
          dot = fmaf(load_value(call.queries.dtype,
                                value_at(call.queries, call.interleaved, call.query_frame, query, c)),
                     load_value(call.keys.dtype, key_value_at(call.keys, call, key, c)), dot);
        }
        score = dot * kLog2OfE;
      }
      const float before = largest;
      largest = fmaxf(largest, gather(score, [](float a, float b) { return fmaxf(a, b); }));
      const float factor = exp2f(before - largest), weight = exp2f(score - largest);
      scores[thread] = weight;
      sum = sum * factor +
            gather(weight, [](float a, float b) { return a + b; });  // also a barrier for the scores
      result *= factor;
      const int64_t keys = count - begin < kThreads ? count - begin : kThreads;
      for (int64_t i = 0; present && i < keys; ++i) {
        result =
            fmaf(scores[i],
                 load_value(call.values.dtype, key_value_at(call.values, call, begin + i, channel)), result);
      }
    }
    if (present && call.last) {
      store_value(call.target.dtype,
                  value_at(call.target, call.interleaved, call.target_frame, query, channel), result / sum);
    } else if (present) {
      state.sums[query * call.values.channels + channel] = result;
    }
  }
  if (call.last || thread != 0) return;
  state.largest[query] = largest;
  state.weights[query] = sum;
}

}  // namespace

void attend_plainly(const Attend& call, StreamHandle stream) {
  const auto queries = static_cast<uint32_t>(positions_of(call.queries));
  const auto slices = static_cast<uint32_t>((call.values.channels + kThreads - 1) / kThreads);
  const bool whole = call.first && call.last;
  launch({"attention of one query", dim3(queries, whole ? slices : 1), dim3(kThreads),
          (kThreads + kThreads / kWarp) * 4, stream},
         attend_query, call);
}

void start(const Attend& call, StreamHandle stream) {
  if (attends_by_tensor_cores(call)) {
    attend_by_tensor_cores(call, stream);
  } else if (attends_by_tiles(call)) {
    attend_by_tiles(call, stream);
  } else {
    attend_plainly(call, stream);
  }
}

}  // namespace headroom::gpu
