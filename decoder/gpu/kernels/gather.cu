#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

/// Gather, or nearest upsampling with `upsamples`. Writes all of the target.
template <class From, bool upsamples>
struct Gathered {
  Upsample call;
  PictureBox inner;
  int32_t first_column = 0;  ///< first source column that the inner columns read

  using Loaded = typename From::Raw;
  struct Row {
    const std::byte* from;  ///< the first column
    bool inside;            ///< whether any of the row lies in the picture
  };

  __device__ int32_t source_row(int32_t y) const { return upsamples ? y / call.factor_y : y; }
  __device__ int32_t source_column(int32_t x) const { return upsamples ? x / call.factor_x : x; }

  __host__ __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    if (!inner.has_row(site.t, site.y)) return {call.source.base, false};
    return {value_of<From>(call.source, site.t, source_row(site.y), first_column, site.channel), true};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    if (!row.inside) return Loaded{};
    const int64_t pixel = source_column(inner.nearest(x)) - first_column;
    return From::load(call.source.dtype, row.from + pixel * pixel_bytes<From>(call.source));
  }
  template <int V>
  __device__ void finish(const Row& row, int32_t x, const Loaded& loaded, float (&values)[V]) const {
    From::widen(call.source.dtype, loaded, values);
    inner.clear_outside(row.inside, x, values);
  }
};

template <bool upsamples>
void gather(const char* name, const Upsample& call, StreamHandle stream) {
  const Box inner = inside(call.target.region, call.picture);
  with_access({&call.source}, call.target, [&]<class From, class To>(From, To) {
    const Gathered<From, upsamples> values{call, {inner}, inner.x.begin / call.factor_x};
    launch_make<To>(name, values, call.target.region, stream);
  });
}

}  // namespace

void start(const Gather& call, StreamHandle stream) {
  gather<false>("gather", {call.source, call.target, 1, 1, call.picture}, stream);
}

void start(const Upsample& call, StreamHandle stream) {
  gather<true>("upsample", call, stream);
}

}  // namespace headroom::gpu
