#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr int kThreads = 256;
/// Positions and channels that a thread block holds in shared memory at a time.
constexpr int kPositions = 64, kTile = 32;
/// Columns of a tile per thread.
constexpr int kColumns = kTile * kTile / kThreads;

/// NaN stays NaN.
__device__ __forceinline__ float relu(float value) {
  return value < 0 ? 0 : value;
}

/// Address of position `number` of a region, counted row by row and then frame by frame.
__device__ __forceinline__ std::byte* position_of(const View& view, const Box& region, int64_t number) {
  const int32_t columns = region.x.end - region.x.begin, rows = region.y.end - region.y.begin;
  const int64_t row = number / columns;
  const auto frame = static_cast<int32_t>(row / rows);
  return pixel_of<Scalars>(view, region.t.begin + frame,
                           region.y.begin + static_cast<int32_t>(row - int64_t{frame} * rows),
                           region.x.begin + static_cast<int32_t>(number - row * columns));
}

struct Segment {
  int64_t positions = 0;  ///< of the region
  int64_t length = 0;
  int32_t tiles = 1;  ///< of a head's channels
};

/// Computes a 32 × 32 tile of one head's sums over one segment, and the sums of the keys alone.
__global__ void __launch_bounds__(kThreads)
    sum_products(const __grid_constant__ AddKeyValueSums call, const __grid_constant__ Segment segment) {
  const int32_t tile = static_cast<int32_t>(blockIdx.x) % (segment.tiles * segment.tiles),
                head = static_cast<int32_t>(blockIdx.x) / (segment.tiles * segment.tiles);
  const int32_t first_row = tile / segment.tiles * kTile, first_column = tile % segment.tiles * kTile;
  const auto lane = static_cast<int32_t>(threadIdx.x % kTile),
             line = static_cast<int32_t>(threadIdx.x / kTile);
  const auto row = static_cast<int32_t>(threadIdx.x) * kColumns / kTile,
             column = static_cast<int32_t>(threadIdx.x) * kColumns % kTile;
  const int64_t begin = segment.length * blockIdx.y,
                end = begin + segment.length < segment.positions ? begin + segment.length : segment.positions;
  const Dtype dtype = call.chunk.dtype;
  const int32_t bytes = Scalars::bytes(dtype);

  auto* keys = shared_memory<float>();
  float* values = keys + kPositions * kTile;
  auto* addresses = reinterpret_cast<const std::byte**>(values + kPositions * kTile);
  double sums[kColumns + 1] = {};
  for (int64_t first = begin; first < end; first += kPositions) {
    const auto count = static_cast<int32_t>(end - first < kPositions ? end - first : kPositions);
    if (static_cast<int32_t>(threadIdx.x) < count)
      addresses[threadIdx.x] = position_of(call.chunk, call.region, first + threadIdx.x) +
                               int64_t{head} * 3 * call.channels * bytes;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPositions * kTile / kThreads; ++i) {
      const int32_t p = line + i * (kThreads / kTile);
      const bool there = p < count;
      const std::byte* from = there ? addresses[p] : nullptr;
      const int32_t k = first_row + lane, v = first_column + lane;
      keys[p * kTile + lane] =
          there && k < call.channels ? relu(load_value(dtype, from + (call.channels + k) * bytes)) : 0;
      values[p * kTile + lane] =
          there && v < call.channels ? load_value(dtype, from + (2 * call.channels + v) * bytes) : 0;
    }
    __syncthreads();
    float partial[kColumns] = {}, keys_alone = 0;
#pragma unroll 8
    for (int p = 0; p < kPositions; ++p) {
      const float key = keys[p * kTile + row];
      float line_values[kColumns];
      load_floats(values + p * kTile + column, line_values);
#pragma unroll
      for (int i = 0; i < kColumns; ++i) partial[i] += key * line_values[i];
      keys_alone += key;
    }
#pragma unroll
    for (int i = 0; i < kColumns; ++i) sums[i] += double(partial[i]);
    sums[kColumns] += double(keys_alone);
  }
  if (first_row + row >= call.channels) return;
  float* to = call.partial + ((int64_t{blockIdx.y} * call.heads + head) * call.channels + first_row + row) *
                                 (call.channels + 1);
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int32_t c = first_column + column + i;
    if (c < call.channels) to[c] = static_cast<float>(sums[i]);
  }
  if (first_column + column == 0) to[call.channels] = static_cast<float>(sums[kColumns]);
}

__global__ void __launch_bounds__(kThreads)
    add_products(const __grid_constant__ AddKeyValueSums call, int64_t segments) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const int64_t values = int64_t{call.heads} * call.channels * (call.channels + 1);
  if (i >= values) return;
  double sum = 0;
  for (int64_t segment = 0; segment < segments; ++segment) sum += double(call.partial[segment * values + i]);
  call.sums[i] += sum;
}

/// Rows of queries are padded to avoid bank conflicts between lanes that read different queries.
constexpr int kQueryPitch = kTile + 4;
constexpr int kPositionsOfWarp = kPositions / (kThreads / kWarp);

/// Each thread block computes 32 channels of one head for 64 positions.
__global__ void __launch_bounds__(kThreads)
    apply_sums(const __grid_constant__ LinearAttention call, const __grid_constant__ Segment segment) {
  const int32_t head = static_cast<int32_t>(blockIdx.y) / segment.tiles,
                column = static_cast<int32_t>(blockIdx.y) % segment.tiles * kTile +
                         static_cast<int32_t>(threadIdx.x % kWarp);
  const auto lane = static_cast<int32_t>(threadIdx.x % kWarp),
             line = static_cast<int32_t>(threadIdx.x / kWarp);
  const int64_t first = int64_t{blockIdx.x} * kPositions;
  const auto count =
      static_cast<int32_t>(segment.positions - first < kPositions ? segment.positions - first : kPositions);
  const Dtype dtype = call.chunk.dtype;
  const int32_t bytes = Scalars::bytes(dtype);

  auto* queries = shared_memory<float>();
  float* sums = queries + kPositions * kQueryPitch;
  float* divisors = sums + kTile * kTile;
  auto* addresses = reinterpret_cast<const std::byte**>(divisors + kTile);
  if (static_cast<int32_t>(threadIdx.x) < count)
    addresses[threadIdx.x] =
        position_of(call.chunk, call.region, first + threadIdx.x) + int64_t{head} * 3 * call.channels * bytes;
  float values[kPositionsOfWarp] = {}, divisor[kPositionsOfWarp] = {};
  for (int32_t k0 = 0; k0 < call.channels; k0 += kTile) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kPositionsOfWarp; ++i) {
      const int32_t p = line + i * (kThreads / kWarp), k = k0 + lane;
      queries[p * kQueryPitch + lane] =
          p < count && k < call.channels ? relu(load_value(dtype, addresses[p] + k * bytes)) : 0;
    }
    for (int32_t k = line; k < kTile; k += kThreads / kWarp) {
      const double* from = call.sums + (int64_t{head} * call.channels + k0 + k) * (call.channels + 1);
      const bool there = k0 + k < call.channels;
      sums[k * kTile + lane] = there && column < call.channels ? static_cast<float>(from[column]) : 0;
      if (lane == 0) divisors[k] = there ? static_cast<float>(from[call.channels]) : 0;
    }
    __syncthreads();
    for (int k = 0; k < kTile; k += 4) {
      float own[4], alone[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        own[j] = sums[(k + j) * kTile + lane];
        alone[j] = divisors[k + j];
      }
#pragma unroll
      for (int i = 0; i < kPositionsOfWarp; ++i) {
        float query[4];
        load_floats(queries + (line * kPositionsOfWarp + i) * kQueryPitch + k, query);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          values[i] += query[j] * own[j];
          divisor[i] += query[j] * alone[j];
        }
      }
    }
  }
  if (column >= call.channels) return;
#pragma unroll
  for (int i = 0; i < kPositionsOfWarp; ++i) {
    const int32_t p = line * kPositionsOfWarp + i;
    if (p >= count) return;
    const float value[1] = {values[i] / (divisor[i] + call.epsilon)};
    Scalars::store(
        call.target.dtype,
        position_of(call.target, call.region, first + p) +
            (call.first_channel + int64_t{head} * call.channels + column) * Scalars::bytes(call.target.dtype),
        value);
  }
}

int64_t positions(const Box& region) {
  return int64_t{length(region.t)} * length(region.y) * length(region.x);
}

}  // namespace

void start(const AddKeyValueSums& call, StreamHandle stream) {
  Segment segment{.positions = positions(call.region), .tiles = (call.channels + kTile - 1) / kTile};
  if (segment.positions == 0) return;
  const int64_t most = key_value_partials(call.region);
  segment.length = (segment.positions + most - 1) / most;
  const int64_t segments = (segment.positions + segment.length - 1) / segment.length;
  launch({.kernel = "sum keys and values",
          .grid = dim3(static_cast<uint32_t>(call.heads * segment.tiles * segment.tiles),
                       static_cast<uint32_t>(segments)),
          .block = dim3(kThreads),
          .shared_bytes = 2 * kPositions * kTile * sizeof(float) + kPositions * sizeof(void*),
          .stream = stream},
         sum_products, call, segment);
  const int64_t values = int64_t{call.heads} * call.channels * (call.channels + 1);
  launch({.kernel = "add keys and values",
          .grid = dim3(static_cast<uint32_t>((values + kThreads - 1) / kThreads)),
          .block = dim3(kThreads),
          .stream = stream},
         add_products, call, segments);
}

void start(const LinearAttention& call, StreamHandle stream) {
  const Segment all{.positions = positions(call.region), .tiles = (call.channels + kTile - 1) / kTile};
  launch({.kernel = "linear attention",
          .grid = dim3(static_cast<uint32_t>((all.positions + kPositions - 1) / kPositions),
                       static_cast<uint32_t>(call.heads * all.tiles)),
          .block = dim3(kThreads),
          .shared_bytes =
              (kPositions * kQueryPitch + kTile * kTile + kTile) * sizeof(float) + kPositions * sizeof(void*),
          .stream = stream},
         apply_sums, call, all);
}

}  // namespace headroom::gpu
