#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

/// Pixels of the target one by one; whatever the factors.
struct Shuffled {
  DepthToSpace call;

  using Loaded = Scalars::Raw;
  struct Row {
    const std::byte* from;  ///< at the column 0 of the source
    int32_t repeated;       ///< the first of its channels, counted with repetitions
  };

  __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    const bool one = site.t == 0 || call.factor_t == 1;
    const int32_t frame = one ? site.t : (site.t - 1) / call.factor_t + 1;
    const int32_t in_depth = one ? call.frames_in_depth - 1 : (site.t - 1) % call.factor_t;
    const int32_t of_channel = site.channel * call.frames_in_depth + in_depth;
    return {pixel_of<Scalars>(call.source, frame, site.y / call.factor_y, 0),
            (of_channel * call.factor_y + site.y % call.factor_y) * call.factor_x};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const int32_t column = x / call.factor_x, phase = x - column * call.factor_x;
    const int32_t channel = (row.repeated + phase) / call.repeats;
    return Scalars::load(call.source.dtype, row.from + int64_t{column} * pixel_bytes<Scalars>(call.source) +
                                                channel * Scalars::bytes(call.source.dtype));
  }
  __device__ void finish(const Row&, int32_t, Loaded loaded, float (&values)[1]) const {
    Scalars::widen(call.source.dtype, loaded, values);
  }
};

/// Of 2 × 2 pixels all at once: a thread reads 4 V channels of one pixel of the source and writes V channels
/// of four.
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
  with_access({&call.source}, call.target, [&]<class From, class To>(From, To) {
    if constexpr (From::kValues > 1) {
      const bool plain = call.frames_in_depth == 1 && call.repeats == 1;
      if (plain && call.factor_y == 2 && call.factor_x == 2) {
        launch_sweep<To::kValues, kPixels<To::kValues>>("shuffle", shuffle_quads<From, To>, coarse,
                                                        call.target.channels, stream, call);
        return;
      }
    }
    launch_make<Scalars>("shuffle", Shuffled{call}, call.region, stream);
  });
}

}  // namespace headroom::gpu
