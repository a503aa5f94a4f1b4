#include "decoder/gpu/calls/softmax.h"

#include <cmath>

#include "decoder/gpu/kernels/language.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr uint32_t kThreads = 256;
constexpr uint32_t kWarps = kThreads / kWarp;
/// Values per vector of a thread: one 16-byte store.
template <typename T>
constexpr int kNeighbours = 16 / int{sizeof(T)};

struct Larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// Combines the values of all threads, in a fixed order. Every thread gets the result.
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

template <typename T, int V>
__device__ __forceinline__ void store_neighbours(T* to, const float (&values)[V]) {
  if constexpr (V == 1) {
    *to = rounded<T>(values[0]);
  } else {
    Vectors<T, V>::store({}, reinterpret_cast<std::byte*>(to), values);
  }
}

/// One thread block per query. A thread processes V neighbours of a row at a time. If V is not 1, rows must
/// be padded to whole vectors.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) softmax(const __grid_constant__ SoftmaxChunk call) {
  constexpr int32_t kRound = int32_t{kThreads} * V;
  const auto keys = static_cast<int32_t>(call.keys);
  auto* shared = shared_memory<float>();
  const int64_t query = blockIdx.x;
  float* scores = in_global(call.scores) + query * call.row;
  float values[V] = {};
  const auto load = [&](int32_t i) {
    if (i < keys) load_floats(scores + i, values);
#pragma unroll
    for (int v = 0; v < V; ++v) values[v] = i + v < keys ? values[v] * call.scale : -INFINITY;
  };
  float largest = call.first ? -INFINITY : call.largest[query];
  const float before = largest;
  for (int32_t begin = 0; begin < keys; begin += kRound) {
    load(begin + static_cast<int32_t>(threadIdx.x) * V);
#pragma unroll
    for (int v = 0; v < V; ++v) largest = fmaxf(largest, values[v]);
  }
  largest = over_block(largest, shared, Larger{});

  // Weights overwrite scores that have been read. A weight is no larger than a score, so the weights of one
  // iteration end before the scores of the next. With a single iteration the scores are still in registers.
  auto* weights = reinterpret_cast<T*>(scores);
  float sum = 0;
  for (int32_t begin = 0; begin < keys; begin += kRound) {
    const int32_t i = begin + static_cast<int32_t>(threadIdx.x) * V;
    if (keys > kRound) load(i);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      values[v] = i + v < keys ? to_float(rounded<T>(exp2f(values[v] - largest))) : 0;
      sum += values[v];
    }
    __syncthreads();
    if (i < keys) store_neighbours(weights + i, values);
  }
  sum = over_block(sum, shared, Sum{});

  if (threadIdx.x != 0) return;
  const float factor = call.first ? 0 : exp2f(before - largest);
  call.largest[query] = largest;
  call.weights[query] = (call.first ? 0 : call.weights[query] * factor) + sum;
  if (!call.first) call.factors[query] = factor;
}

/// One warp per query.
template <int V>
__global__ void __launch_bounds__(kThreads) rescale_sums(const __grid_constant__ RescaleSums call) {
  const int64_t query = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (query >= call.queries) return;
  const float factor = call.factors[query];
  if (factor == 1) return;
  float* sums = in_global(call.sums) + query * call.channels;
  for (auto c = static_cast<int32_t>(threadIdx.x % kWarp) * V; c < call.channels; c += int32_t{kWarp} * V) {
    float values[V];
    load_floats(sums + c, values);
#pragma unroll
    for (float& value : values) value *= factor;
    if constexpr (V == 1) {
      sums[c] = values[0];
    } else {
      Vectors<float, V>::store({}, reinterpret_cast<std::byte*>(sums + c), values);
    }
  }
}

/// One warp per position.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads) store_means(const __grid_constant__ StoreWeightedMeans call) {
  const int64_t own = int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (own >= call.count) return;
  const int64_t number = call.first + own;
  const int32_t width = call.box.x.end - call.box.x.begin;
  const View& target = call.target;
  std::byte* to = pixel_of<Vectors<T, kNeighbours<T>>>(
      target, call.box.t.begin, call.box.y.begin + static_cast<int32_t>(number / width),
      call.box.x.begin + static_cast<int32_t>(number % width));
  const float* sums = in_global(call.sums) + own * target.channels;
  const float weights = call.weights[own];
  for (auto c = static_cast<int32_t>(threadIdx.x % kWarp) * V; c < target.channels; c += int32_t{kWarp} * V) {
    float values[V];
    load_floats(sums + c, values);
#pragma unroll
    for (float& value : values) value /= weights;
    store_neighbours(reinterpret_cast<T*>(to) + c, values);
  }
}

Launch shape(const char* kernel, int64_t blocks, StreamHandle stream) {
  return {.kernel = kernel,
          .grid = dim3(static_cast<uint32_t>(blocks)),
          .block = dim3(kThreads),
          .shared_bytes = kWarps * sizeof(float),
          .stream = stream};
}
int64_t blocks_of_warps(int64_t warps) {
  return (warps + kWarps - 1) / kWarps;
}

template <typename T>
void weigh_as(const Launch& how, const SoftmaxChunk& call) {
  if (takes_vectors(call.scores) && call.row % kNeighbours<T> == 0)
    return launch(how, softmax<T, kNeighbours<T>>, call);
  launch(how, softmax<T, 1>, call);
}

template <typename T>
void store_as(const Launch& how, const StoreWeightedMeans& call) {
  if (takes_vectors(call.target, kNeighbours<T>) && takes_vectors(call.sums))
    return launch(how, store_means<T, kNeighbours<T>>, call);
  launch(how, store_means<T, 1>, call);
}

}  // namespace

void weigh(const SoftmaxChunk& call, StreamHandle stream) {
  const Launch how = shape("softmax", call.queries, stream);
  switch (call.dtype) {
    case Dtype::fp16:
      return weigh_as<Half>(how, call);
    case Dtype::bf16:
      return weigh_as<Bfloat16>(how, call);
    case Dtype::fp32:
      return weigh_as<float>(how, call);
  }
}

void rescale(const RescaleSums& call, StreamHandle stream) {
  const Launch how = shape("rescale_sums", blocks_of_warps(call.queries), stream);
  constexpr int kWords = 4;
  if (takes_vectors(call.sums) && call.channels % kWords == 0) return launch(how, rescale_sums<kWords>, call);
  launch(how, rescale_sums<1>, call);
}

void store_weighted_means(const StoreWeightedMeans& call, StreamHandle stream) {
  const Launch how = shape("store_means", blocks_of_warps(call.count), stream);
  switch (call.target.dtype) {
    case Dtype::fp16:
      return store_as<Half>(how, call);
    case Dtype::bf16:
      return store_as<Bfloat16>(how, call);
    case Dtype::fp32:
      return store_as<float>(how, call);
  }
}

}  // namespace headroom::gpu
