#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

/// Rows and columns outside the picture can be negative. So the code uses shifts and masks, which round down,
/// instead of / and %.
template <class Access>
struct Interleaved {
  Interleave call;

  using Loaded = typename Access::Raw;
  struct Row {
    const std::byte* from;  ///< the coarse row's first position in the phase of even columns
  };

  __host__ __device__ const View& target() const { return call.target; }
  __device__ int64_t positions(int64_t rows) const {
    return rows * (call.coarse.x.end - call.coarse.x.begin);
  }
  __device__ int64_t rows_of_phase() const {
    return int64_t{call.coarse.t.end - call.coarse.t.begin} * (call.coarse.y.end - call.coarse.y.begin);
  }
  __device__ Row row(const Site& site) const {
    const int64_t frames = site.t - call.coarse.t.begin;
    const int64_t rows =
        frames * (call.coarse.y.end - call.coarse.y.begin) + (site.y >> 1) - call.coarse.y.begin;
    const int64_t phase = (site.y & 1) * 2;
    return {static_cast<const std::byte*>(call.phases) +
            positions(phase * rows_of_phase() + rows) * pixel_bytes<Access>(call.target) +
            site.channel * Access::bytes(call.target.dtype)};
  }
  __device__ Loaded load(const Row& row, int32_t x) const {
    const int64_t position = positions((x & 1) * rows_of_phase()) + (x >> 1) - call.coarse.x.begin;
    return Access::load(call.target.dtype, row.from + position * pixel_bytes<Access>(call.target));
  }
  template <int V>
  __device__ void finish(const Row&, int32_t, const Loaded& loaded, float (&values)[V]) const {
    Access::widen(call.target.dtype, loaded, values);
  }
};

}  // namespace

void start(const Interleave& call, StreamHandle stream) {
  with_access(call.target, takes_vectors(call.phases), [&]<class Access>(Access) {
    launch_make<Access>("interleave", Interleaved<Access>{call}, call.region, stream);
  });
}

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
