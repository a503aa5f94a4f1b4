#include <numeric>

#include "decoder/gpu/calls/segments.h"
#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr uint32_t kThreads = 256;
/// Pixels per thread that are summed in fp32. These sums are then added in double.
constexpr int32_t kRun = 32;
constexpr int32_t kAtATime = 4;
/// Resident thread blocks per multiprocessor: as many as shared memory allows, if a thread uses at most 64
/// registers.
[[maybe_unused]] constexpr int kResidentBlocks = 4;  // unused by the emulator

/// How AddMoments splits channels and pixels among thread blocks: see kSliceChannels.
struct Shares {
  int32_t group_channels = 1;
  int32_t slices_of_group = 1;   ///< more than one for large groups
  int32_t groups_of_slice = 1;   ///< more than one for small groups
  uint32_t channel_threads = 1;  ///< threads along the channels of a slice
  int32_t segment = 1;           ///< pixels
  int64_t pixels = 0;            ///< of a frame
};

/// Iterates over one vector of channels of a frame's region, pixel by pixel. Keeps few registers between two
/// loads.
template <class Access>
struct Walk {
  const View& view;
  const Box& region;
  int32_t t, y, x;
  int32_t offset;  ///< bytes, from a pixel's first channel
  const std::byte* at;

  __device__ Walk(const View& view_, const Box& region_, int32_t t_, int64_t pixel, int32_t offset_)
      : view(view_), region(region_), t(t_), offset(offset_) {
    const int32_t columns = region.x.end - region.x.begin;
    y = static_cast<int32_t>(pixel / columns);
    x = static_cast<int32_t>(pixel - int64_t{y} * columns);
    find();
  }
  __device__ void find() { at = pixel_of<Access>(view, t, region.y.begin + y, region.x.begin + x) + offset; }
  __device__ typename Access::Raw load() const { return Access::load(view.dtype, at); }
  /// Stops at the last row.
  __device__ void advance(int32_t pixels) {
    const int32_t columns = region.x.end - region.x.begin;
    x += pixels;
    at += int64_t{pixels} * pixel_bytes<Access>(view);
    if (x < columns) return;
    const int32_t wraps = x / columns;
    x -= wraps * columns;
    y = min(y + wraps, region.y.end - region.y.begin - 1);
    find();
  }
};

/// The channels of a block of threads, and its pixels.
struct alignas(16) Slice {
  int32_t first_group = 0, groups = 0;
  int32_t of_group = 0;  ///< which slice of the group
  int32_t first_channel = 0, channels = 0;
  int32_t pixels = 0;
  uint32_t last = 0;  ///< see is_last()

  __device__ Slice(const AddMoments& call, const Shares& shares, int64_t begin) {
    const auto slice = static_cast<int32_t>(blockIdx.y);
    const bool many = shares.slices_of_group > 1;
    first_group = many ? slice / shares.slices_of_group : slice * shares.groups_of_slice;
    of_group = many ? slice % shares.slices_of_group : 0;
    groups = min(shares.groups_of_slice, call.groups - first_group);
    first_channel = first_group * shares.group_channels + of_group * static_cast<int32_t>(kSliceChannels);
    channels = many ? min(static_cast<int32_t>(kSliceChannels),
                          (first_group + 1) * shares.group_channels - first_channel)
                    : groups * shares.group_channels;
    pixels =
        static_cast<int32_t>(shares.pixels - begin < shares.segment ? shares.pixels - begin : shares.segment);
  }
};

/// Merges a list of moments in its order. `lanes` neighbouring threads do this for one group, and the first
/// of them gets the result. All threads of the block call it.
__device__ inline Moments merged_list(const Moments* list, int64_t stride, int32_t count, uint32_t lanes,
                                      Moments* shared) {
  const uint32_t lane = threadIdx.x % lanes;
  const int32_t share = (count + static_cast<int32_t>(lanes) - 1) / static_cast<int32_t>(lanes);
  const int32_t first = share * static_cast<int32_t>(lane);
  Moments own;
  for (int32_t i = first; i < min(first + share, count); ++i) own = merged(own, list[i * stride]);
  for (uint32_t distance = 1; distance < lanes; distance *= 2) {
    shared[threadIdx.x] = own;
    __syncthreads();
    if (lane % (2 * distance) == 0) own = merged(own, shared[threadIdx.x + distance]);
    __syncthreads();
  }
  return own;
}

/// Returns true in the last of `count` thread blocks that call it with this counter, and resets the counter.
/// This block then sees what the others have written.
__device__ inline bool is_last(uint32_t* counter, int32_t count, uint32_t* shared) {
  __syncthreads();
  if (threadIdx.x == 0) {
    *shared = arrive(counter) + 1 == static_cast<uint32_t>(count) ? 1 : 0;
    if (*shared != 0) *counter = 0;
  }
  __syncthreads();
  return *shared != 0;
}

/// Merges the partial moments of a slice's groups into the state. They are a list in the order of segments.
/// The last block of each stretch of the list merges the stretch. The last of these blocks merges the
/// results. So the order of additions does not depend on the order of the blocks.
__device__ inline void merge_segments(const AddMoments& call, int32_t slices_of_group, const Slice& slice,
                                      Moments* shared, uint32_t* shared_word) {
  const int64_t frame_moments = int64_t{gridDim.x} * slices_of_group;
  const int64_t set = call.by_frame ? blockIdx.z : 0, earlier = call.by_frame ? 0 : blockIdx.z;
  const auto count = static_cast<int32_t>(call.by_frame ? frame_moments : frame_moments * gridDim.z);
  const auto number =
      static_cast<int32_t>(earlier * frame_moments + int64_t{blockIdx.x} * slices_of_group) + slice.of_group;
  constexpr auto kStretch = static_cast<int32_t>(kMomentStretch);
  const int32_t stretches = (count + kStretch - 1) / kStretch, own = number / kStretch;
  uint32_t* counters = call.counters + (set * call.groups + slice.first_group) * (stretches + 1);

  uint32_t lanes = 1;
  while (lanes * 2 * static_cast<uint32_t>(slice.groups) <= blockDim.x) lanes *= 2;
  const auto group = static_cast<int32_t>(threadIdx.x / lanes);
  const bool stores = group < slice.groups && threadIdx.x % lanes == 0;
  Moments* list =
      call.partial + set * frame_moments * call.groups + slice.first_group + min(group, slice.groups - 1);
  const int64_t stride = call.groups;

  const int32_t in_stretch = min(kStretch, count - own * kStretch);
  if (!is_last(counters + own, in_stretch, shared_word)) return;
  Moments* stretch = list + own * kStretch * stride;
  Moments moments = merged_list(stretch, stride, in_stretch, lanes, shared);
  if (stretches > 1) {
    if (stores) *stretch = moments;
    if (!is_last(counters + stretches, stretches, shared_word)) return;
    moments = merged_list(list, kStretch * stride, stretches, lanes, shared);
  }
  if (!stores) return;
  const int64_t state_set = call.by_frame ? call.region.t.begin + set : 0;
  Moments& state = call.state[state_set * call.groups + slice.first_group + group];
  state = merged(state, moments);
}

/// Adds the moments of a slice's groups over one segment. Values are summed relative to one pixel of the
/// segment. So a mean that is large compared to the deviation causes no cancellation.
template <class Access>
__global__ void __launch_bounds__(kThreads, kResidentBlocks)
    add_segments(const __grid_constant__ AddMoments call, const __grid_constant__ Shares shares) {
  constexpr int V = Access::kValues;
  const View& view = call.source;
  const uint32_t pixel_threads = blockDim.x / shares.channel_threads;
  const uint32_t slots = shares.channel_threads * V;

  // Shared memory: the slice itself, to keep registers for loads in flight; sums and sums of squares of each
  // thread's channels, then of the slice's channels; and the reference values.
  auto* kept = shared_memory<Slice>();
  auto* own_sums = reinterpret_cast<double*>(kept + 1);
  double* sums = own_sums + 2 * V * kThreads;
  auto* shifts = reinterpret_cast<float*>(sums + 2 * slots);
  const int64_t begin = int64_t{blockIdx.x} * shares.segment;
  {
    const Slice slice(call, shares, begin);
    const int32_t t = call.region.t.begin + static_cast<int32_t>(blockIdx.z);
    if (threadIdx.x == 0) *kept = slice;
    const uint32_t own_pixel = threadIdx.x / shares.channel_threads;
    const auto own_channel = static_cast<int32_t>((threadIdx.x - own_pixel * shares.channel_threads) * V);
    const bool present = own_channel < slice.channels;
    const int32_t offset = (slice.first_channel + (present ? own_channel : 0)) * Access::bytes(view.dtype);

    float shift[V];
    {
      const Walk<Access> middle(view, call.region, t, begin + slice.pixels / 2, offset);
      Access::widen(view.dtype, middle.load(), shift);
    }
#pragma unroll
    for (int i = 0; i < V; ++i) {
      own_sums[i * kThreads + threadIdx.x] = 0;
      own_sums[(V + i) * kThreads + threadIdx.x] = 0;
      if (own_pixel == 0) shifts[own_channel + i] = shift[i];
    }
    const auto step = static_cast<int32_t>(pixel_threads);
    const int32_t own_pixels = (slice.pixels - static_cast<int32_t>(own_pixel) + step - 1) / step;
    if (present && own_pixels > 0) {
      Walk<Access> walk(view, call.region, t, begin + own_pixel, offset);
      for (int32_t left = own_pixels; left > 0; left -= kRun) {
        float sum[V] = {}, squares[V] = {};
        const auto add = [&](const typename Access::Raw& raw) {
          float values[V];
          Access::widen(view.dtype, raw, values);
#pragma unroll
          for (int i = 0; i < V; ++i) {
            const float difference = values[i] - shift[i];
            sum[i] += difference;
            squares[i] += difference * difference;
          }
        };
        int32_t run = min(kRun, left);
        for (; run >= kAtATime; run -= kAtATime) {
          typename Access::Raw raw[kAtATime];
#pragma unroll
          for (int k = 0; k < kAtATime; ++k) {
            raw[k] = walk.load();
            walk.advance(step);
          }
#pragma unroll
          for (int k = 0; k < kAtATime; ++k) add(raw[k]);
        }
        for (; run > 0; --run) {
          add(walk.load());
          walk.advance(step);
        }
        // Volatile, so that the sums do not take registers from loads in flight.
        volatile double* own = own_sums + threadIdx.x;
#pragma unroll
        for (int i = 0; i < V; ++i) {
          own[i * kThreads] = own[i * kThreads] + double(sum[i]);
          own[(V + i) * kThreads] = own[(V + i) * kThreads] + double(squares[i]);
        }
      }
    }
  }
  __syncthreads();
  // Reduces over the threads that have the same channels.
  for (uint32_t item = threadIdx.x; item < 2 * slots; item += blockDim.x) {
    const uint32_t value = item / shares.channel_threads, vector = item - value * shares.channel_threads;
    const double* from = own_sums + value * kThreads + vector;
    double sum = 0;
    for (uint32_t p = 0; p < pixel_threads; ++p) sum += from[p * shares.channel_threads];
    sums[value / V * slots + vector * V + value % V] = sum;
  }
  __syncthreads();
  // Reduces over the channels of each group. All channels have equally many values.
  const Slice& slice = *kept;
  for (auto group = static_cast<int32_t>(threadIdx.x); group < slice.groups;
       group += static_cast<int32_t>(blockDim.x)) {
    const int32_t count = min(shares.group_channels, slice.channels), first = group * count;
    const double one = 1.0 / slice.pixels;
    double mean = 0, m2 = 0;
    for (int32_t c = first; c < first + count; ++c) mean += double(shifts[c]) + sums[c] * one;
    mean /= count;
    for (int32_t c = first; c < first + count; ++c) {
      const double sum = sums[c], difference = double(shifts[c]) + sum * one - mean;
      m2 += sums[slots + c] - sum * sum * one + slice.pixels * difference * difference;
    }
    const int64_t segment = int64_t{blockIdx.z} * gridDim.x + blockIdx.x;
    call.partial[(segment * shares.slices_of_group + slice.of_group) * call.groups + slice.first_group +
                 group] = {double(slice.pixels) * count, mean, m2};
  }
  merge_segments(call, shares.slices_of_group, slice, reinterpret_cast<Moments*>(kept + 1), &kept->last);
}

__global__ void __launch_bounds__(kThreads) make_scales(const __grid_constant__ Affine call) {
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= int64_t{call.sets} * call.channels) return;
  const auto set = static_cast<int32_t>(i / call.channels), c = static_cast<int32_t>(i % call.channels);
  const int32_t group = c / (call.channels / call.groups), run = call.run_frames;
  const int32_t number = run > 0 && set > 0 ? (set - 1) / run : 0;
  const int32_t begin = run == 0 ? set : number == 0 ? 0 : number * run + 1;
  const int32_t end = run == 0 ? set + 1 : min((number + 1) * run + 1, call.sets);
  Moments moments;
  for (int32_t own = begin; own < end; ++own)
    moments = merged(moments, call.state[int64_t{own} * call.groups + group]);
  const double variance = fmax(0.0, moments.m2 / moments.count);
  const double factor = double(call.weight[c]) / sqrt(variance + call.epsilon);
  call.scale[i] = static_cast<float>(factor);
  call.shift[i] = static_cast<float>(double(call.bias[c]) - moments.mean * factor);
}

}  // namespace

void start(const AddMoments& call, StreamHandle stream) {
  const int64_t rows = length(call.region.y), columns = length(call.region.x), frames = length(call.region.t);
  if (rows * columns * frames == 0) return;
  const int32_t channels = call.source.channels;
  Shares shares;
  shares.group_channels = channels / call.groups;
  shares.slices_of_group = static_cast<int32_t>(slices_of_group(channels, call.groups));
  shares.pixels = rows * columns;
  const int64_t segments = moment_segments(rows, columns, channels);
  shares.segment = static_cast<int32_t>((shares.pixels + segments - 1) / segments);
  const bool aligned = shares.slices_of_group == 1 || shares.group_channels % 8 == 0;
  with_access(call.source, aligned, [&]<class Access>(Access) {
    constexpr int V = Access::kValues;
    int32_t slice_channels = kSliceChannels, slices = call.groups * shares.slices_of_group;
    if (shares.slices_of_group == 1) {
      // Slices must begin at multiples of the vector length.
      const int32_t whole = V / std::gcd(V, shares.group_channels);
      const auto fit = static_cast<int32_t>(kSliceChannels) / shares.group_channels / whole * whole;
      shares.groups_of_slice = std::min(call.groups, std::max(whole, fit));
      slices = (call.groups + shares.groups_of_slice - 1) / shares.groups_of_slice;
      slice_channels = shares.groups_of_slice * shares.group_channels;
    }
    shares.channel_threads = static_cast<uint32_t>((slice_channels + V - 1) / V);
    const uint32_t threads = kThreads / shares.channel_threads * shares.channel_threads;
    const size_t slots = shares.channel_threads * V;
    launch({.kernel = "add moments",
            .grid = dim3(static_cast<uint32_t>((shares.pixels + shares.segment - 1) / shares.segment),
                         static_cast<uint32_t>(slices), static_cast<uint32_t>(frames)),
            .block = dim3(threads),
            .shared_bytes = sizeof(Slice) +
                            std::max((2 * V * kThreads + 2 * slots) * sizeof(double) + slots * sizeof(float),
                                     threads * sizeof(Moments)),
            .stream = stream},
           add_segments<Access>, call, shares);
  });
}

void start(const Affine& call, StreamHandle stream) {
  const int64_t values = int64_t{call.sets} * call.channels;
  launch({.kernel = "make affine",
          .grid = dim3(static_cast<uint32_t>((values + kThreads - 1) / kThreads)),
          .block = dim3(kThreads),
          .stream = stream},
         make_scales, call);
}

}  // namespace headroom::gpu
