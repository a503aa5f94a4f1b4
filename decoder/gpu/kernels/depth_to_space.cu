#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

/// General kernel for all factors: computes target pixels one by one. `From` reads vectors of channels if a
/// pixel's channels are contiguous in the source.
template <class From>
struct Shuffled {
  DepthToSpace call;

  using Loaded = typename From::Raw;
  struct Row {
    const std::byte* from;                 ///< at the column 0 of the source
    int32_t channel, pixel_step, repeats;  ///< of the row's first pixel, counted with repetitions
  };

  __host__ __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    const bool one = site.t == 0 || call.factor_t == 1;
    const int32_t frame = one ? site.t : (site.t - 1) / call.factor_t + 1;
    const int32_t in_depth = one ? 0 : (site.t - 1) % call.factor_t;
    const DepthLayout& layout = one ? call.first : call.later;
    const int32_t pixel = site.y % call.factor_y * call.factor_x;
    return {pixel_of<From>(call.source, frame, site.y / call.factor_y, 0),
            layout.begin + in_depth * call.frame_step + pixel * layout.pixel_step +
                site.channel * layout.channel_step,
            layout.pixel_step, layout.repeats};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const int32_t column = x / call.factor_x, phase = x - column * call.factor_x;
    const int32_t channel = (row.channel + phase * row.pixel_step) / row.repeats;
    return From::load(call.source.dtype, row.from + int64_t{column} * pixel_bytes<From>(call.source) +
                                             channel * From::bytes(call.source.dtype));
  }
  __device__ void finish(const Row&, int32_t, const Loaded& loaded, float (&values)[From::kValues]) const {
    From::widen(call.source.dtype, loaded, values);
  }
};

/// Computes 2 × 2 pixels at once: a thread reads 4 V channels of a source pixel and writes V channels of four
/// pixels.
template <class From, class To>
__global__ void __launch_bounds__(kSweepThreads)
    shuffle_quads(const __grid_constant__ DepthToSpace call, const __grid_constant__ Sweep sweep) {
  constexpr int V = From::kValues;
  const Site site = site_of<V, kPixels<V>>(sweep);
  if (site.channel >= call.target.channels) return;
  for (int k = 0; k < kPixels<V>; ++k) {
    const int32_t column = site.x + k * static_cast<int32_t>(blockDim.y);
    if (column >= sweep.region.x.end) return;
    const std::byte* from = value_of<From>(call.source, site.t, site.y, column, 4 * site.channel);
    typename From::Raw raw[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      raw[i] = From::load(call.source.dtype, from + i * V * From::bytes(call.source.dtype));
    float channels[4][V];
#pragma unroll
    for (int i = 0; i < 4; ++i) From::widen(call.source.dtype, raw[i], channels[i]);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int32_t y = site.y * 2 + i / 2, x = column * 2 + i % 2;
      if (y < call.region.y.begin || y >= call.region.y.end || x < call.region.x.begin ||
          x >= call.region.x.end)
        continue;
      float values[V];
#pragma unroll
      for (int c = 0; c < V; ++c) values[c] = channels[(4 * c + i) / V][(4 * c + i) % V];
      To::store(call.target.dtype, value_of<To>(call.target, site.t, y, x, site.channel), values);
    }
  }
}

}  // namespace

void start(const DepthToSpace& call, StreamHandle stream) {
  const auto halved = [](const Span& span) { return Span{span.begin / 2, (span.end + 1) / 2}; };
  const Box coarse{call.region.t, halved(call.region.y), halved(call.region.x)};
  const DepthLayout quads{.channel_step = 4};
  const auto side_by_side = [](const DepthLayout& layout) {
    return layout.channel_step == 1 && layout.repeats == 1;
  };
  with_access({&call.source}, call.target, [&]<class From, class To>(From, To) {
    if constexpr (From::kValues > 1) {
      if (side_by_side(call.first) && side_by_side(call.later)) {
        launch_make<To>("depth_to_space", Shuffled<From>{call}, call.region, stream);
        return;
      }
      if (call.first == quads && call.factor_t == 1 && call.factor_y == 2 && call.factor_x == 2) {
        launch_sweep<To::kValues, kPixels<To::kValues>>("depth_to_space", shuffle_quads<From, To>, coarse,
                                                        call.target.channels, stream, call);
        return;
      }
    }
    launch_make<Scalars>("depth_to_space", Shuffled<Scalars>{call}, call.region, stream);
  });
}

namespace {

constexpr int kFoldedPixels = kPixels<1>;

/// Each thread computes one channel of some pixels of a row. They share the arithmetic that finds the
/// channel's source values.
__global__ void __launch_bounds__(kSweepThreads)
    fold(const __grid_constant__ SpaceToDepth call, const __grid_constant__ Sweep sweep) {
  const Site site = site_of<1, kFoldedPixels>(sweep);
  const auto step = static_cast<int32_t>(blockDim.y);
  const int32_t end = sweep.region.x.end;
  if (site.channel >= call.target.channels || site.x >= end) return;
  const bool first = site.t == 0 || call.stride_t == 1;
  const FoldSteps& steps = first ? call.first : call.later;
  const Dtype dtype = call.source.dtype;
  // Pixels beyond the end of the row repeat the last one.
  int64_t own[kFoldedPixels];
#pragma unroll
  for (int k = 0; k < kFoldedPixels; ++k)
    own[k] = int64_t{min(k * step, end - 1 - site.x)} * call.stride_x * pixel_bytes<Scalars>(call.source);

  float sums[kFoldedPixels] = {};
  for (int32_t i = 0; i < steps.group; ++i) {
    const int32_t number = site.channel * steps.group + i;
    const int32_t in_square = number / steps.frame_step % steps.frames;
    if (in_square < steps.zeros) continue;
    const int32_t frame = first ? site.t : (site.t - 1) * call.stride_t + 1 + in_square;
    const std::byte* from = value_of<Scalars>(
        call.source, frame, site.y * call.stride_y + number / steps.row_step % call.stride_y,
        site.x * call.stride_x + number / steps.column_step % call.stride_x,
        number / steps.channel_step % call.source.channels);
#pragma unroll
    for (int k = 0; k < kFoldedPixels; ++k) sums[k] += load_value(dtype, from + own[k]);
  }

  const float share = 1 / static_cast<float>(steps.group);
  std::byte* to = value_of<Scalars>(call.target, site.t, site.y, site.x, site.channel);
#pragma unroll
  for (int k = 0; k < kFoldedPixels; ++k) {
    if (site.x + k * step >= end) break;
    const float value[1] = {sums[k] * share};
    Scalars::store(call.target.dtype, to + int64_t{k} * step * pixel_bytes<Scalars>(call.target), value);
  }
}

}  // namespace

void start(const SpaceToDepth& call, StreamHandle stream) {
  launch_sweep<1, kFoldedPixels>("space_to_depth", fold, call.region, call.target.channels, stream, call);
}

}  // namespace headroom::gpu
