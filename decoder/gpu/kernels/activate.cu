#include "decoder/gpu/kernels/activation.h"
#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

template <class Access>
struct Activated {
  Activate call;

  using Loaded = typename Access::Raw;
  struct Row {
    const std::byte* from;  ///< the region's first pixel
  };

  __device__ const View& target() const { return call.tile; }
  __device__ Row row(const Site& site) const {
    return {value_of<Access>(call.tile, site.t, site.y, call.region.x.begin, site.channel)};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const int64_t pixel = x - call.region.x.begin;
    return Access::load(call.tile.dtype, row.from + pixel * pixel_bytes<Access>(call.tile));
  }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded& loaded, float (&values)[V]) const {
    Access::widen(call.tile.dtype, loaded, values);
    gpu::activate(call.activation, values);
  }
};

}  // namespace

void activate(const Activate& call, StreamHandle stream) {
  if (call.activation == Activation::none) return;
  with_access(call.tile, true, [&]<class Access>(Access) {
    launch_make<Access>("activate", Activated<Access>{call}, call.region, stream);
  });
}

}  // namespace headroom::gpu
