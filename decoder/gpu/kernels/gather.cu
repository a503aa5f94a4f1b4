#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

template <class From>
struct Gathered {
  Gather call;
  PictureBox inner;

  using Loaded = typename From::Raw;
  struct Row {
    const std::byte* from;  ///< the first pixel inside the picture
    bool inside;            ///< whether any of the row lies in the picture
  };

  __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    if (!inner.has_row(site.t, site.y)) return {call.source.base, false};
    return {value_of<From>(call.source, site.t, site.y, inner.box.x.begin, site.channel), true};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    if (!row.inside) return Loaded{};
    const int64_t pixel = inner.nearest(x) - inner.box.x.begin;
    return From::load(call.source.dtype, row.from + pixel * pixel_bytes<From>(call.source));
  }
  template <int V>
  __device__ void finish(const Row& row, int32_t x, const Loaded& loaded, float (&values)[V]) const {
    From::widen(call.source.dtype, loaded, values);
    inner.clear_outside(row.inside, x, values);
  }
};

}  // namespace

void gather(const Gather& call, StreamHandle stream) {
  with_access({&call.source}, call.target, [&]<class From, class To>(From, To) {
    const Gathered<From> values{call, {inside(call.target.region, call.picture)}};
    launch_make<To>("gather", values, call.target.region, stream);
  });
}

}  // namespace headroom::gpu
