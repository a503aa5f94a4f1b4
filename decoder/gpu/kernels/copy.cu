#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

template <class From>
struct Copied {
  Copy call;

  using Loaded = typename From::Raw;
  struct Row {
    const std::byte* from;  ///< the region's first pixel
  };

  __device__ const View& target() const { return call.target; }
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
  }
};

}  // namespace

void copy(const Copy& call, StreamHandle stream) {
  with_access({&call.source}, call.target, [&]<class From, class To>(From, To) {
    launch_make<To>("copy", Copied<From>{call}, call.region, stream);
  });
}

}  // namespace headroom::gpu
