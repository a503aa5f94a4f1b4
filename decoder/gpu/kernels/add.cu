#include "decoder/gpu/kernels/activation.h"
#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

template <class From, class To>
struct Sums {
  Add call;

  struct Loaded {
    typename From::Raw term;
    typename To::Raw sum;
  };
  struct Row {
    const std::byte *from, *to;  ///< the region's first pixel
  };

  __host__ __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    return {value_of<From>(call.source, site.t, site.y, call.region.x.begin, site.channel),
            value_of<To>(call.target, site.t, site.y, call.region.x.begin, site.channel)};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const int64_t pixel = x - call.region.x.begin;
    return {From::load(call.source.dtype, row.from + pixel * pixel_bytes<From>(call.source)),
            To::load(call.target.dtype, row.to + pixel * pixel_bytes<To>(call.target))};
  }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded& loaded, float (&values)[V]) const {
    float terms[V];
    From::widen(call.source.dtype, loaded.term, terms);
    To::widen(call.target.dtype, loaded.sum, values);
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] += terms[i];
    gpu::activate(call.activation, values);
  }
};

}  // namespace

void start(const Add& call, StreamHandle stream) {
  with_access({&call.source}, call.target, [&]<class From, class To>(From, To) {
    launch_make<To>("add", Sums<From, To>{call}, call.region, stream);
  });
}

}  // namespace headroom::gpu
