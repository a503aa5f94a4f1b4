#pragma once

#include <algorithm>

#include "decoder/gpu/kernels/access.h"
#include "decoder/graph/errors.h"

// Kernels that make each pixel of a region from a few others, one sweep over memory.
namespace headroom::gpu {

constexpr int kSweepThreads = 256;

/// How threads share a region: a block has some pixels of one row. Threads that follow one another have
/// channels that follow one another, then pixels; a thread makes V channels of several pixels. Blocks of a
/// grid follow one another along x through a row, along y through rows, along z through frames and, where
/// there are more channels than a block has threads for, through these.
struct Sweep {
  Box region;
  int32_t channel_chunks = 1;
};

/// Pixels of a thread: enough loads under way to keep memory busy.
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

/// Makes a region of a target, K pixels in each thread. `Make` has
///   Row row(const Site&) const          what all pixels of a thread have in common,
///   Loaded load(const Row&, x) const    all that must be read for one of them,
///   finish(const Row&, x, const Loaded&, float (&)[V]) const,
///   target().
/// Nothing is stored before all pixels of a thread were loaded, so that their loads are under way together.
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

/// f(band) for bands of a region, top to bottom, of no more rows than a grid has blocks along y.
template <class F>
void for_bands(const Box& region, const F& f) {
  constexpr int32_t kMostRows = 65535;
  for (Box band = region; band.y.begin < region.y.end; band.y.begin = band.y.end) {
    band.y.end = band.y.begin + std::min(kMostRows, region.y.end - band.y.begin);
    f(band);
  }
}

/// Sweeps a region with `channels` channels, K pixels in each thread; `kernel` takes `arguments`, then the
/// sweep.
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
  /// Column to read in place of one outside, so that loads need not wait for a branch.
  __device__ __forceinline__ int32_t nearest(int32_t x) const {
    return min(max(x, box.x.begin), box.x.end - 1);
  }
  /// Sets the values of a position outside to zero. Its row has no position inside, or its column is outside.
  template <int V>
  __device__ __forceinline__ void clear_outside(bool row_inside, int32_t x, float (&values)[V]) const {
    const bool outside = !row_inside || !has_column(x);
#pragma unroll
    for (float& value : values) value = outside ? 0 : value;
  }
};

/// True if `V` channels of a view can be read and written at one time, from any multiple of V on.
inline bool takes_vectors(const View& view, int V) {
  const int64_t bytes = V * (view.dtype == Dtype::fp32 ? 4 : 2);
  return view.channels % V == 0 &&
         reinterpret_cast<uintptr_t>(view.base) % static_cast<uintptr_t>(bytes) == 0;
}

/// True if a list can be read 16 bytes at a time.
inline bool takes_vectors(const void* list) {
  return reinterpret_cast<uintptr_t>(list) % 16 == 0;
}

/// Calls f with one access to read and one to write. They take 16 bytes of the wider side at a time where all
/// views allow it and the sources have one dtype. `aligned` says that other lists the kernel reads allow it
/// too. Otherwise they take single values. fp16 and bf16 do not meet in one decode.
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

/// Calls f with one access for values of the target's dtype: by 16 bytes or value by value, as above.
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

/// Makes a region of the target.
template <class To, int K = kPixels<To::kValues>, class Make>
void launch_make(const char* name, const Make& make, const Box& region, StreamHandle stream) {
  launch_sweep<To::kValues, K>(name, make_pixels<To, K, Make>, region, make.target().channels, stream, make);
}

}  // namespace headroom::gpu
