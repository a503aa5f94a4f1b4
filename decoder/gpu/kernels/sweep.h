#pragma once

#include <algorithm>

#include "decoder/base/errors.h"
#include "decoder/gpu/kernels/access.h"

// Framework for elementwise kernels: each pixel of a region depends on a few source pixels.
namespace headroom::gpu {

constexpr int kSweepThreads = 256;

/// Assignment of threads to a region. A thread block covers some pixels of one row. Consecutive threads cover
/// consecutive channels, then pixels. A thread computes V channels of several pixels. The grid's x runs
/// through a row, y through rows, z through frames and through chunks of channels if one block cannot cover
/// them all.
struct Sweep {
  Box region;
  int32_t channel_chunks = 1;
};

/// Pixels per thread: enough loads in flight to saturate memory bandwidth.
template <int V>
constexpr int kPixels = V == 1 ? 8 : 4;

/// First pixel and first channel of a thread.
struct Site {
  int32_t t, y, x;
  int32_t channel;
};

template <int V, int K>
__device__ __forceinline__ Site site_of(const Sweep& sweep) {
  auto frame = static_cast<int32_t>(blockIdx.z), chunk = 0;
  if (sweep.channel_chunks > 1) {
    frame = static_cast<int32_t>(blockIdx.z) / sweep.channel_chunks;
    chunk = static_cast<int32_t>(blockIdx.z) - frame * sweep.channel_chunks;
  }
  return {sweep.region.t.begin + frame, sweep.region.y.begin + static_cast<int32_t>(blockIdx.y),
          sweep.region.x.begin + static_cast<int32_t>(blockIdx.x * blockDim.y * K + threadIdx.y),
          (chunk * static_cast<int32_t>(blockDim.x) + static_cast<int32_t>(threadIdx.x)) * V};
}

/// Computes a region of a target, K pixels per thread. `Make` has
///   Row row(const Site&) const          state shared by all pixels of a thread,
///   Loaded load(const Row&, x) const    loads all inputs of one pixel,
///   finish(const Row&, x, const Loaded&, float (&)[V]) const,
///   target().
/// A thread loads all its pixels before it stores any, so that the loads overlap.
template <class To, int K, class Make>
__global__ void __launch_bounds__(kSweepThreads)
    make_pixels(const __grid_constant__ Make make, const __grid_constant__ Sweep sweep) {
  constexpr int V = To::kValues;
  const Site site = site_of<V, K>(sweep);
  const View& target = make.target();
  const int32_t end = sweep.region.x.end, step = static_cast<int32_t>(blockDim.y);
  if (site.channel >= target.channels || site.x >= end) return;
  const auto row = make.row(site);
  typename Make::Loaded loaded[K];
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int32_t x = site.x + k * step;
    loaded[k] = make.load(row, x < end ? x : end - 1);
  }
  std::byte* to = value_of<To>(target, site.t, site.y, site.x, site.channel);
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const int32_t x = site.x + k * step;
    if (x >= end) break;
    float values[V];
    make.finish(row, x, loaded[k], values);
    To::store(target.dtype, to + int64_t{k} * step * pixel_bytes<To>(target), values);
  }
}

inline int32_t length(const Span& span) {
  return span.end > span.begin ? span.end - span.begin : 0;
}

/// Calls f(band) for bands of a region, top to bottom. A band has at most as many rows as a grid allows
/// blocks along y.
template <class F>
void for_bands(const Box& region, const F& f) {
  constexpr int32_t kMostRows = 65535;
  for (Box band = region; band.y.begin < region.y.end; band.y.begin = band.y.end) {
    band.y.end = band.y.begin + std::min(kMostRows, region.y.end - band.y.begin);
    f(band);
  }
}

/// Launches `kernel` over a region with `channels` channels, K pixels per thread. `kernel` takes `arguments`,
/// then the Sweep.
template <int V, int K, class Kernel, class... Arguments>
void launch_sweep(const char* name, Kernel kernel, const Box& region, int32_t channels, StreamHandle stream,
                  const Arguments&... arguments) {
  const int32_t columns = length(region.x), frames = length(region.t), vectors = channels / V;
  if (columns == 0 || vectors == 0) return;
  const int32_t channel_threads = std::min(vectors, kSweepThreads);
  const int32_t pixel_threads = std::clamp(kSweepThreads / channel_threads, 1, columns);
  const int32_t channel_chunks = (vectors + channel_threads - 1) / channel_threads;
  const int32_t blocks_of_row = (columns + pixel_threads * K - 1) / (pixel_threads * K);
  for_bands(region, [&](const Box& band) {
    launch({.kernel = name,
            .grid = dim3(static_cast<uint32_t>(blocks_of_row), static_cast<uint32_t>(length(band.y)),
                         static_cast<uint32_t>(frames * channel_chunks)),
            .block = dim3(static_cast<uint32_t>(channel_threads), static_cast<uint32_t>(pixel_threads)),
            .stream = stream},
           kernel, arguments..., Sweep{band, channel_chunks});
  });
}

/// The part of a region that lies inside the picture.
inline Box inside(const Box& region, const Size& picture) {
  const auto cut = [](const Span& span, int32_t size) {
    return Span{std::max(span.begin, 0), std::min(span.end, size)};
  };
  return {cut(region.t, picture.t), cut(region.y, picture.y), cut(region.x, picture.x)};
}

/// The box of a target's region that lies inside the picture. Outside of it the target becomes zero.
struct PictureBox {
  Box box;

  __device__ __forceinline__ bool has_row(int32_t t, int32_t y) const {
    return t >= box.t.begin && t < box.t.end && y >= box.y.begin && y < box.y.end && box.x.begin < box.x.end;
  }
  __device__ __forceinline__ bool has_column(int32_t x) const { return x >= box.x.begin && x < box.x.end; }
  /// Nearest column inside the picture. Loads use it outside too, so they need no branch.
  __device__ __forceinline__ int32_t nearest(int32_t x) const {
    return min(max(x, box.x.begin), box.x.end - 1);
  }
  /// Sets the values to zero if the position is outside: its row is outside, or column `x` is.
  template <int V>
  __device__ __forceinline__ void clear_outside(bool row_inside, int32_t x, float (&values)[V]) const {
    const bool outside = !row_inside || !has_column(x);
#pragma unroll
    for (float& value : values) value = outside ? 0 : value;
  }
};

/// True if vectors of `V` channels of a view are aligned at every multiple of V.
inline bool takes_vectors(const View& view, int V) {
  const int64_t bytes = V * (view.dtype == Dtype::fp32 ? 4 : 2);
  return view.channels % V == 0 &&
         reinterpret_cast<uintptr_t>(view.base) % static_cast<uintptr_t>(bytes) == 0;
}

/// True if a list can be read 16 bytes at a time.
inline bool takes_vectors(const void* list) {
  return reinterpret_cast<uintptr_t>(list) % 16 == 0;
}

/// Calls f with one access type for reading and one for writing. They use vectors of 16 bytes of the wider
/// side if all views are aligned, the sources have one dtype, and `aligned` is true (for the kernel's other
/// lists). Otherwise they use single values. No decode mixes fp16 and bf16.
template <class F>
void with_access(std::initializer_list<const View*> sources, const View& target, bool aligned, const F& f) {
  const Dtype from = (*sources.begin())->dtype, to = target.dtype;
  const int V = from == Dtype::fp32 || to == Dtype::fp32 ? 4 : 8;
  bool vectors = aligned && takes_vectors(target, V);
  for (const View* source : sources) vectors = vectors && takes_vectors(*source, V) && source->dtype == from;
  if (vectors && from == Dtype::fp32 && to == Dtype::fp32) return f(Vectors<float, 4>{}, Vectors<float, 4>{});
  if (vectors && from == Dtype::fp16 && to == Dtype::fp16) return f(Vectors<Half, 8>{}, Vectors<Half, 8>{});
  if (vectors && from == Dtype::bf16 && to == Dtype::bf16)
    return f(Vectors<Bfloat16, 8>{}, Vectors<Bfloat16, 8>{});
  if (vectors && from == Dtype::fp16 && to == Dtype::fp32) return f(Vectors<Half, 4>{}, Vectors<float, 4>{});
  if (vectors && from == Dtype::bf16 && to == Dtype::fp32)
    return f(Vectors<Bfloat16, 4>{}, Vectors<float, 4>{});
  if (vectors && from == Dtype::fp32 && to == Dtype::fp16) return f(Vectors<float, 4>{}, Vectors<Half, 4>{});
  if (vectors && from == Dtype::fp32 && to == Dtype::bf16)
    return f(Vectors<float, 4>{}, Vectors<Bfloat16, 4>{});
  f(Scalars{}, Scalars{});
}
template <class F>
void with_access(std::initializer_list<const View*> sources, const View& target, const F& f) {
  with_access(sources, target, true, f);
}

/// Calls f with one access type for the target's dtype: vectors of 16 bytes or single values, as above.
template <class F>
void with_access(const View& target, bool aligned, const F& f) {
  const int V = target.dtype == Dtype::fp32 ? 4 : 8;
  if (!aligned || !takes_vectors(target, V)) return f(Scalars{});
  switch (target.dtype) {
    case Dtype::fp32:
      return f(Vectors<float, 4>{});
    case Dtype::fp16:
      return f(Vectors<Half, 8>{});
    case Dtype::bf16:
      return f(Vectors<Bfloat16, 8>{});
  }
}

/// Launches make_pixels() over a region of the target.
template <class To, int K = kPixels<To::kValues>, class Make>
void launch_make(const char* name, const Make& make, const Box& region, StreamHandle stream) {
  launch_sweep<To::kValues, K>(name, make_pixels<To, K, Make>, region, make.target().channels, stream, make);
}

}  // namespace headroom::gpu
