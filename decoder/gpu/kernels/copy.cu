#include "decoder/gpu/kernels/activation.h"
#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

/// Copies a region, optionally with an activation.
template <class From, bool activates>
struct Copied {
  Copy call;
  Activation activation = Activation::none;

  using Loaded = typename From::Raw;
  struct Row {
    const std::byte* from;  ///< the region's first pixel
  };

  __host__ __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    return {value_of<From>(call.source, site.t, site.y, call.region.x.begin, site.channel)};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const int64_t pixel = x - call.region.x.begin;
    return From::load(call.source.dtype, row.from + pixel * pixel_bytes<From>(call.source));
  }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded& loaded, float (&values)[V]) const {
    From::widen(call.source.dtype, loaded, values);
    if constexpr (activates) activate(activation, values);
  }
};

}  // namespace

void start(const Copy& call, StreamHandle stream) {
  with_access({&call.source}, call.target, [&]<class From, class To>(From, To) {
    launch_make<To>("copy", Copied<From, false>{call}, call.region, stream);
  });
}

void start(const Activate& call, StreamHandle stream) {
  if (call.activation == Activation::none) return;
  with_access(call.tile, true, [&]<class Access>(Access) {
    const Copied<Access, true> values{{call.tile, call.tile, call.region}, call.activation};
    launch_make<Access>("activate", values, call.region, stream);
  });
}

}  // namespace headroom::gpu
