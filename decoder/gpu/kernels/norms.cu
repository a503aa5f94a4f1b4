#include "decoder/gpu/kernels/activation.h"
#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

/// Norm, activation and the gather of the halo in one sweep.
template <class From>
struct Normalised {
  Normalise call;
  PictureBox inner;

  using Loaded = typename From::Raw;
  struct Row {
    const std::byte* from;  ///< the first pixel inside the picture
    bool inside;            ///< whether any of the row lies in the picture
    float scale[From::kValues], shift[From::kValues];
  };

  __host__ __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    Row row;
    row.from = call.source.base;
    row.inside = inner.has_row(site.t, site.y);
    if (!row.inside) return row;
    row.from = value_of<From>(call.source, site.t, site.y, inner.box.x.begin, site.channel);
    const int64_t first = (call.by_frame ? int64_t{site.t} * call.source.channels : 0) + site.channel;
    load_floats(call.scale + first, row.scale);
    load_floats(call.shift + first, row.shift);
    return row;
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    if (!row.inside) return Loaded{};
    const int64_t pixel = inner.nearest(x) - inner.box.x.begin;
    return From::load(call.source.dtype, row.from + pixel * pixel_bytes<From>(call.source));
  }
  template <int V>
  __device__ void finish(const Row& row, int32_t x, const Loaded& loaded, float (&values)[V]) const {
    if (!row.inside || !inner.has_column(x)) {
#pragma unroll
      for (float& value : values) value = 0;
      return;
    }
    From::widen(call.source.dtype, loaded, values);
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] = values[i] * row.scale[i] + row.shift[i];
    gpu::activate(call.activation, values);
  }
};

}  // namespace

void start(const Normalise& call, StreamHandle stream) {
  const bool lists = takes_vectors(call.scale) && takes_vectors(call.shift);
  with_access({&call.source}, call.target, lists, [&]<class From, class To>(From, To) {
    const Normalised<From> values{call, {inside(call.target.region, call.picture)}};
    launch_make<To>("normalise", values, call.target.region, stream);
  });
}

namespace {

/// Lanes of a warp share a pixel; each lane has one or more vectors of channels. Blocks are numbered as in
/// Sweep.
struct Lanes {
  Box region;
  uint32_t of_pixel = 1;  ///< a power of two
};

__device__ __forceinline__ float sum_over(uint32_t lanes, float value) {
  for (uint32_t distance = lanes / 2; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, static_cast<int>(distance));
  return value;
}

template <int V>
__device__ __forceinline__ float sum_of(const float (&values)[V]) {
  float sum = 0;
#pragma unroll
  for (const float value : values) sum += value;
  return sum;
}

template <int V>
__device__ __forceinline__ float square_sum(const float (&values)[V], float mean) {
  float sum = 0;
#pragma unroll
  for (const float value : values) sum += (value - mean) * (value - mean);
  return sum;
}

/// Scaling of one pixel: each value becomes (value - mean) * factor.
struct Scaling {
  float mean = 0, factor = 1;
};

template <class To, int V>
__device__ __forceinline__ void finish(const RmsNorm& call, const Scaling& pixel, const float (&weight)[V],
                                       const float (&bias)[V], float (&values)[V], std::byte* to) {
#pragma unroll
  for (int i = 0; i < V; ++i) values[i] = (values[i] - pixel.mean) * pixel.factor * weight[i] + bias[i];
  gpu::activate(call.activation, values);
  To::store(call.target.dtype, to, values);
}

/// Keeps values in registers: each lane has `vectors` vectors of each of its pixels, four in all.
template <class From, class To, int vectors>
__global__ void __launch_bounds__(kSweepThreads)
    normalise_in_registers(const __grid_constant__ RmsNorm call, const __grid_constant__ Lanes lanes) {
  constexpr int V = From::kValues, kPixelsOfLane = 4 / vectors;
  const uint32_t lane = threadIdx.x & (lanes.of_pixel - 1), pixel = threadIdx.x / lanes.of_pixel,
                 pixels = blockDim.x / lanes.of_pixel;
  const Box& region = lanes.region;
  const int32_t t = region.t.begin + static_cast<int32_t>(blockIdx.z),
                y = region.y.begin + static_cast<int32_t>(blockIdx.y),
                x = region.x.begin + static_cast<int32_t>(blockIdx.x * pixels * kPixelsOfLane + pixel);
  const auto step = static_cast<int32_t>(pixels), stride = static_cast<int32_t>(lanes.of_pixel) * V;
  const int32_t end = region.x.end, channels = call.target.channels;
  const int32_t channel = static_cast<int32_t>(lane) * V;
  const std::byte* from = pixel_of<From>(call.source, t, y, region.x.begin);
  typename From::Raw raw[kPixelsOfLane][vectors];
#pragma unroll
  for (int p = 0; p < kPixelsOfLane; ++p) {
    const int64_t at = min(x + p * step, end - 1) - region.x.begin;
    const std::byte* values = from + at * pixel_bytes<From>(call.source);
#pragma unroll
    for (int r = 0; r < vectors; ++r) {
      const int32_t c = channel + r * stride;
      raw[p][r] = typename From::Raw{};
      if (c < channels)
        raw[p][r] = From::load(call.source.dtype, values + c * From::bytes(call.source.dtype));
    }
  }
  Scaling scaling[kPixelsOfLane];
#pragma unroll
  for (int p = 0; p < kPixelsOfLane; ++p) {
    float sum = 0;
#pragma unroll
    for (int r = 0; r < vectors && call.centred; ++r) {
      float values[V];
      From::widen(call.source.dtype, raw[p][r], values);
      sum += sum_of(values);  // zeros behind the last channel
    }
    if (call.centred) scaling[p].mean = sum_over(lanes.of_pixel, sum) / static_cast<float>(channels);
    sum = 0;
#pragma unroll
    for (int r = 0; r < vectors; ++r) {
      float values[V];
      From::widen(call.source.dtype, raw[p][r], values);
      if (channel + r * stride < channels) sum += square_sum(values, scaling[p].mean);
    }
    scaling[p].factor =
        1.0f / sqrtf(sum_over(lanes.of_pixel, sum) / static_cast<float>(channels) + call.epsilon);
  }
#pragma unroll
  for (int r = 0; r < vectors; ++r) {
    const int32_t c = channel + r * stride;
    if (c >= channels) break;
    float weight[V], bias[V];
    load_floats(call.weight + c, weight);
    load_floats(call.bias + c, bias);
#pragma unroll
    for (int p = 0; p < kPixelsOfLane; ++p) {
      const int32_t column = x + p * step;
      if (column >= end) break;
      float values[V];
      From::widen(call.source.dtype, raw[p][r], values);
      finish<To>(call, scaling[p], weight, bias, values,
                 pixel_of<To>(call.target, t, y, column) + c * To::bytes(call.target.dtype));
    }
  }
}

/// Fallback for any number of channels: reads a pixel twice, and once more if centred.
template <class From, class To>
__global__ void __launch_bounds__(kSweepThreads)
    normalise_twice(const __grid_constant__ RmsNorm call, const __grid_constant__ Lanes lanes) {
  constexpr int V = From::kValues;
  const uint32_t lane = threadIdx.x & (lanes.of_pixel - 1), pixel = threadIdx.x / lanes.of_pixel;
  const Box& region = lanes.region;
  const int32_t t = region.t.begin + static_cast<int32_t>(blockIdx.z),
                y = region.y.begin + static_cast<int32_t>(blockIdx.y),
                x = region.x.begin + static_cast<int32_t>(blockIdx.x * (blockDim.x / lanes.of_pixel) + pixel);
  const int32_t stride = static_cast<int32_t>(lanes.of_pixel) * V, channels = call.target.channels;
  const std::byte* from = pixel_of<From>(call.source, t, y, min(x, region.x.end - 1));
  const auto load = [&](int32_t c, float(&values)[V]) {
    From::widen(call.source.dtype, From::load(call.source.dtype, from + c * From::bytes(call.source.dtype)),
                values);
  };
  Scaling scaling;
  float sum = 0;
  for (int32_t c = static_cast<int32_t>(lane) * V; c < channels && call.centred; c += stride) {
    float values[V];
    load(c, values);
    sum += sum_of(values);
  }
  if (call.centred) scaling.mean = sum_over(lanes.of_pixel, sum) / static_cast<float>(channels);
  sum = 0;
  for (int32_t c = static_cast<int32_t>(lane) * V; c < channels; c += stride) {
    float values[V];
    load(c, values);
    sum += square_sum(values, scaling.mean);
  }
  scaling.factor = 1.0f / sqrtf(sum_over(lanes.of_pixel, sum) / static_cast<float>(channels) + call.epsilon);
  if (x >= region.x.end) return;
  std::byte* to = pixel_of<To>(call.target, t, y, x);
  for (int32_t c = static_cast<int32_t>(lane) * V; c < channels; c += stride) {
    float values[V], weight[V], bias[V];
    load(c, values);
    load_floats(call.weight + c, weight);
    load_floats(call.bias + c, bias);
    finish<To>(call, scaling, weight, bias, values, to + c * To::bytes(call.target.dtype));
  }
}

}  // namespace

void start(const RmsNorm& call, StreamHandle stream) {
  const int64_t columns = length(call.region.x), frames = length(call.region.t);
  const bool lists = takes_vectors(call.weight) && takes_vectors(call.bias);
  with_access({&call.source}, call.target, lists, [&]<class From, class To>(From, To) {
    const int64_t vectors = call.target.channels / From::kValues;
    const auto start = [&](auto kernel, int64_t vectors_of_lane, int64_t pixels_of_lane) {
      Lanes lanes;
      while (lanes.of_pixel < kWarp && lanes.of_pixel * vectors_of_lane < vectors) lanes.of_pixel *= 2;
      const int64_t pixels = kSweepThreads / lanes.of_pixel * pixels_of_lane;
      for_bands(call.region, [&](const Box& band) {
        lanes.region = band;
        launch({.kernel = "rms norm",
                .grid = dim3(static_cast<uint32_t>((columns + pixels - 1) / pixels),
                             static_cast<uint32_t>(length(band.y)), static_cast<uint32_t>(frames)),
                .block = dim3(kSweepThreads),
                .stream = stream},
               kernel, call, lanes);
      });
    };
    if constexpr (From::kValues > 1) {
      if (vectors <= kWarp) return start(normalise_in_registers<From, To, 1>, 1, 4);
      if (vectors <= 4 * kWarp) return start(normalise_in_registers<From, To, 4>, 4, 1);
    }
    start(normalise_twice<From, To>, 1, 1);
  });
}

}  // namespace headroom::gpu
