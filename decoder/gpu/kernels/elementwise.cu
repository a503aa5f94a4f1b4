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

namespace {

template <class From>
struct Modulated {
  Modulate call;

  struct Loaded {
    typename From::Raw value, scale, shift;
  };
  struct Row {
    const std::byte *from, *factors;  ///< the region's first pixel
  };

  __host__ __device__ const View& target() const { return call.target; }
  __device__ Row row(const Site& site) const {
    return {value_of<From>(call.source, site.t, site.y, call.region.x.begin, site.channel),
            value_of<From>(call.factors, site.t, site.y, call.region.x.begin, site.channel)};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const Dtype dtype = call.factors.dtype;
    const int64_t pixel = x - call.region.x.begin;
    const std::byte* factors = row.factors + pixel * pixel_bytes<From>(call.factors);
    return {From::load(call.source.dtype, row.from + pixel * pixel_bytes<From>(call.source)),
            From::load(dtype, factors),
            From::load(dtype, factors + call.target.channels * From::bytes(dtype))};
  }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded& loaded, float (&values)[V]) const {
    float scales[V], shifts[V];
    From::widen(call.source.dtype, loaded.value, values);
    From::widen(call.factors.dtype, loaded.scale, scales);
    From::widen(call.factors.dtype, loaded.shift, shifts);
#pragma unroll
    for (int i = 0; i < V; ++i) values[i] = values[i] * scales[i] + shifts[i];
    gpu::activate(call.activation, values);
  }
};

}  // namespace

void start(const Modulate& call, StreamHandle stream) {
  with_access({&call.source, &call.factors}, call.target, [&]<class From, class To>(From, To) {
    launch_make<To>("modulate", Modulated<From>{call}, call.region, stream);
  });
}

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
