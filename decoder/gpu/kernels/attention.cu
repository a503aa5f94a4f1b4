#include "decoder/gpu/kernels/attention.h"
#include "decoder/gpu/kernels/kernels.h"

#include <cmath>

namespace headroom::gpu {
namespace {

constexpr int kThreads = 128;

/// One query and, for each thread, one channel of its result. Every thread makes the score of one key at a
/// time.
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

  const int64_t query = blockIdx.x, count = positions_of(call.keys);
  const int32_t channel = static_cast<int32_t>(blockIdx.y) * kThreads + thread;
  float result = 0, largest = -INFINITY, sum = 0;
  for (int64_t begin = 0; begin < count; begin += kThreads) {
    const int64_t key = begin + thread;
    float score = -INFINITY;
    if (key < count) {
      float dot = 0;
      for (int32_t c = 0; c < call.queries.channels; ++c) {
        dot = fmaf(
            load_value(call.queries.dtype, value_at(call.queries, call.frames, call.query_frame, query, c)),
            load_value(call.keys.dtype, value_at(call.keys, call.frames, call.key_frame, key, c)), dot);
      }
      score = dot * call.scale * kLog2OfE;
    }
    const float before = largest;
    largest = fmaxf(largest, gather(score, [](float a, float b) { return fmaxf(a, b); }));
    const float factor = exp2f(before - largest), weight = exp2f(score - largest);
    scores[thread] = weight;
    sum = sum * factor +
          gather(weight, [](float a, float b) { return a + b; });  // a barrier for the scores too
    result *= factor;
    const int64_t keys = count - begin < kThreads ? count - begin : kThreads;
    for (int64_t i = 0; channel < call.values.channels && i < keys; ++i) {
      result = fmaf(scores[i],
                    load_value(call.values.dtype,
                               value_at(call.values, call.frames, call.key_frame, begin + i, channel)),
                    result);
    }
  }
  if (channel < call.values.channels) {
    store_value(call.target.dtype, value_at(call.target, call.frames, call.target_frame, query, channel),
                result / sum);
  }
}

}  // namespace

void attend_plainly(const Attend& call, StreamHandle stream) {
  const auto queries = static_cast<uint32_t>(positions_of(call.queries));
  const auto slices = static_cast<uint32_t>((call.values.channels + kThreads - 1) / kThreads);
  launch({"attention of one query", dim3(queries, slices), dim3(kThreads), (kThreads + kThreads / kWarp) * 4,
          stream},
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
