#include "decoder/gpu/kernels/activation.h"
#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

template <class From>
struct Gated {
  Gate call;

  struct Loaded {
    typename From::Raw value, gate;
  };
  struct Row {
    const std::byte* from;  ///< the region's first pixel
  };

  __host__ __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    return {value_of<From>(call.source, site.t, site.y, call.region.x.begin, site.channel)};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const Dtype dtype = call.source.dtype;
    const std::byte* from = row.from + int64_t{x - call.region.x.begin} * pixel_bytes<From>(call.source);
    return {From::load(dtype, from), From::load(dtype, from + call.target.channels * From::bytes(dtype))};
  }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded& loaded, float (&values)[V]) const {
    float gates[V];
    From::widen(call.source.dtype, loaded.value, values);
    From::widen(call.source.dtype, loaded.gate, gates);
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] *= silu(gates[i]);
  }
};

}  // namespace

void start(const Gate& call, StreamHandle stream) {
  with_access({&call.source}, call.target, [&]<class From, class To>(From, To) {
    launch_make<To>("gate", Gated<From>{call}, call.region, stream);
  });
}

}  // namespace headroom::gpu
