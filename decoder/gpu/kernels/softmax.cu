#include "decoder/gpu/calls/softmax.h"

#include <cmath>
#include <string>

#include "decoder/gpu/kernels/language.h"
#include "decoder/graph/errors.h"

namespace headroom::gpu {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarps = kThreads / kWarp;

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// Of all threads' values; every thread has the result. The order is always the same.
template <typename Operation>
__device__ float over_block(float value, float* shared, Operation operation) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    value = operation(value, __shfl_xor_sync(kAllLanes, value, distance));
  if (threadIdx.x % kWarp == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = shared[0];
  for (uint32_t warp = 1; warp < kWarps; ++warp) value = operation(value, shared[warp]);
  __syncthreads();
  return value;
}

/// A block of threads for each query.
template <typename T>
__global__ void __launch_bounds__(kThreads) softmax(__grid_constant__ const SoftmaxChunk call) {
  auto* shared = shared_memory<float>();
  const int64_t query = blockIdx.x;
  float* scores = call.scores + query * call.row;
  float largest = call.first ? -INFINITY : call.largest[query];
  const float before = largest;
  for (int64_t i = threadIdx.x; i < call.keys; i += kThreads)
    largest = fmaxf(largest, scores[i] * call.scale);
  largest = over_block(largest, shared, Larger{});

  // Weights are written over scores that have been read. They have half the size of a score, so those of one
  // round of the loop end before the scores of the next one begin.
  auto* weights = reinterpret_cast<T*>(scores);
  float sum = 0;
  for (int64_t begin = 0; begin < call.keys; begin += kThreads) {
    const int64_t i = begin + threadIdx.x;
    T weight{};
    if (i < call.keys) {
      weight = rounded<T>(expf(scores[i] * call.scale - largest));
      sum += to_float(weight);
    }
    __syncthreads();
    if (i < call.keys) weights[i] = weight;
  }
  sum = over_block(sum, shared, Sum{});

  const float factor = call.first ? 0 : expf(before - largest);
  if (threadIdx.x == 0) {
    call.largest[query] = largest;
    call.weights[query] = (call.first ? 0 : call.weights[query] * factor) + sum;
  }
  if (call.first || factor == 1) return;
  float* sums = call.sums + query * call.channels;
  for (int32_t c = static_cast<int32_t>(threadIdx.x); c < call.channels; c += kThreads) sums[c] *= factor;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) store_means(__grid_constant__ const StoreWeightedMeans call) {
  const int64_t number = call.first + blockIdx.x;
  const int32_t width = call.box.x.end - call.box.x.begin;
  const View& target = call.target;
  const int32_t y = call.box.y.begin + static_cast<int32_t>(number / width) - target.region.y.begin;
  const int32_t x = call.box.x.begin + static_cast<int32_t>(number % width) - target.region.x.begin;
  const int32_t t = call.box.t.begin - target.region.t.begin;
  const int64_t row = int64_t{t} * target.block_rows + y % target.block_rows;
  const int64_t columns = target.region.x.end - target.region.x.begin;
  auto* to =
      reinterpret_cast<T*>(target.base + int64_t{target.block_units[y / target.block_rows]} * kBlockUnit) +
      (row * columns + x) * target.channels;
  const float* sums = call.sums + int64_t{blockIdx.x} * target.channels;
  const float weights = call.weights[blockIdx.x];
  for (int32_t c = static_cast<int32_t>(threadIdx.x); c < target.channels; c += kThreads)
    to[c] = rounded<T>(sums[c] / weights);
}

Launch shape(const char* kernel, int64_t blocks, StreamHandle stream) {
  return {.kernel = kernel,
          .grid = dim3(static_cast<uint32_t>(blocks)),
          .block = dim3(kThreads),
          .shared_bytes = kWarps * sizeof(float),
          .stream = stream};
}

[[noreturn]] void refuse_fp32(const char* kernel) {
  throw DeviceError(std::string("kernel ") + kernel + ": not for fp32");
}

}  // namespace

void weigh(const SoftmaxChunk& call, StreamHandle stream) {
  const Launch how = shape("softmax", call.queries, stream);
  switch (call.dtype) {
    case Dtype::fp16:
      return launch(how, softmax<Half>, call);
    case Dtype::bf16:
      return launch(how, softmax<Bfloat16>, call);
    case Dtype::fp32:
      refuse_fp32(how.kernel);
  }
}

void store_weighted_means(const StoreWeightedMeans& call, StreamHandle stream) {
  const Launch how = shape("store_means", call.count, stream);
  switch (call.target.dtype) {
    case Dtype::fp16:
      return launch(how, store_means<Half>, call);
    case Dtype::bf16:
      return launch(how, store_means<Bfloat16>, call);
    case Dtype::fp32:
      refuse_fp32(how.kernel);
  }
}

}  // namespace headroom::gpu
