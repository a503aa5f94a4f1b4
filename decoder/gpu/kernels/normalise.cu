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

}  // namespace headroom::gpu
