#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr float kOwnShare = 0.75f;
/// Pixels per thread. Each reads up to eight source pixels.
constexpr int kInterpolatedPixels = 2;

/// Weights along an axis: 3/4 of the value at `own` and 1/4 of its neighbour, or one value alone.
struct Blend {
  int32_t own, beside;

  __device__ float share(bool of_beside) const {
    if (own == beside) return of_beside ? 0.0f : 1.0f;
    return of_beside ? 1 - kOwnShare : kOwnShare;
  }
};

__device__ __forceinline__ Blend blend_of(int32_t position, int32_t factor, int32_t begin, int32_t end) {
  if (factor == 1) return {position, position};
  const int32_t counted = position - begin, own = begin + counted / 2;
  const int32_t beside = counted % 2 == 0 ? own - 1 : own + 1;
  return {own, min(max(beside, begin), end - 1)};
}

template <class From>
struct Interpolated {
  Interpolate call;

  struct Loaded {
    float values[From::kValues];
  };
  struct Row {
    const std::byte* from[4];  ///< source rows to mix, at column 0
    float share[4];
  };

  __host__ __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    const Blend t = site.t == 0 ? Blend{0, 0} : blend_of(site.t, call.factor_t, 1, call.source_extent.t);
    const Blend y = blend_of(site.y, call.factor_y, 0, call.source_extent.y);
    Row row;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool other_frame = i / 2 == 1, other_row = i % 2 == 1;
      row.share[i] = t.share(other_frame) * y.share(other_row);
      row.from[i] = call.source.base;
      if (row.share[i] == 0) continue;
      row.from[i] = value_of<From>(call.source, other_frame ? t.beside : t.own, other_row ? y.beside : y.own,
                                   0, site.channel);
    }
    return row;
  }
  /// The mix of the rows in one column.
  __device__ Loaded mixed(const Row& row, int32_t x) const {
    Loaded sum{};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (row.share[i] == 0) continue;
      float values[From::kValues];
      From::widen(call.source.dtype,
                  From::load(call.source.dtype, row.from[i] + int64_t{x} * pixel_bytes<From>(call.source)),
                  values);
#pragma unroll
      for (int c = 0; c < From::kValues; ++c) sum.values[c] += row.share[i] * values[c];
    }
    return sum;
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const Blend blend = blend_of(x, call.factor_x, 0, call.source_extent.x);
    Loaded own = mixed(row, blend.own);
    if (blend.own == blend.beside) return own;
    const Loaded beside = mixed(row, blend.beside);
#pragma unroll
    for (int c = 0; c < From::kValues; ++c)
      own.values[c] = kOwnShare * own.values[c] + (1 - kOwnShare) * beside.values[c];
    return own;
  }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded& loaded, float (&values)[V]) const {
#pragma unroll
    for (int c = 0; c < V; ++c) values[c] = loaded.values[c];
  }
};

}  // namespace

void start(const Interpolate& call, StreamHandle stream) {
  with_access({&call.source}, call.target, [&]<class From, class To>(From, To) {
    launch_make<To, kInterpolatedPixels>("interpolate", Interpolated<From>{call}, call.region, stream);
  });
}

}  // namespace headroom::gpu
