#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

template <class From>
struct Unfolded {
  UnfoldFrames call;

  using Loaded = typename From::Raw;
  struct Row {
    const std::byte* from;  ///< the region's first pixel
    Dtype dtype;
    int32_t bytes;  ///< of a pixel
  };

  __host__ __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    const bool first = site.t == 0;
    const View& source = first ? call.first : call.rest;
    const int32_t channel = site.channel + (first || site.t % 2 == 1 ? 0 : call.target.channels);
    return {pixel_of<From>(source, first ? 0 : (site.t + 1) / 2, site.y, call.region.x.begin) +
                channel * From::bytes(source.dtype),
            source.dtype, pixel_bytes<From>(source)};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    return From::load(row.dtype, row.from + int64_t{x - call.region.x.begin} * row.bytes);
  }
  template <int V>
  __device__ void finish(const Row& row, int32_t, const Loaded& loaded, float (&values)[V]) const {
    From::widen(row.dtype, loaded, values);
  }
};

}  // namespace

void start(const UnfoldFrames& call, StreamHandle stream) {
  with_access({&call.first, &call.rest}, call.target, [&]<class From, class To>(From, To) {
    launch_make<To>("unfold frames", Unfolded<From>{call}, call.region, stream);
  });
}

}  // namespace headroom::gpu
