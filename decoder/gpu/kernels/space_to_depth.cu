#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr int kFoldedPixels = kPixels<1>;

/// Each thread computes one channel of some pixels of a row. They share the arithmetic that finds the
/// channel's source values.
__global__ void __launch_bounds__(kSweepThreads)
    fold(const __grid_constant__ SpaceToDepth call, const __grid_constant__ Sweep sweep) {
  const Site site = site_of<1, kFoldedPixels>(sweep);
  const auto step = static_cast<int32_t>(blockDim.y);
  const int32_t end = sweep.region.x.end;
  if (site.channel >= call.target.channels || site.x >= end) return;
  const bool first = site.t == 0 || call.stride_t == 1;
  const FoldSteps& steps = first ? call.first : call.later;
  const Dtype dtype = call.source.dtype;
  // Pixels beyond the end of the row repeat the last one.
  int64_t own[kFoldedPixels];
#pragma unroll
  for (int k = 0; k < kFoldedPixels; ++k)
    own[k] = int64_t{min(k * step, end - 1 - site.x)} * call.stride_x * pixel_bytes<Scalars>(call.source);

  float sums[kFoldedPixels] = {};
  for (int32_t i = 0; i < steps.group; ++i) {
    const int32_t number = site.channel * steps.group + i;
    const int32_t in_square = number / steps.frame_step % steps.frames;
    if (in_square < steps.zeros) continue;
    const int32_t frame = first ? site.t : (site.t - 1) * call.stride_t + 1 + in_square;
    const std::byte* from = value_of<Scalars>(
        call.source, frame, site.y * call.stride_y + number / steps.row_step % call.stride_y,
        site.x * call.stride_x + number / steps.column_step % call.stride_x,
        number / steps.channel_step % call.source.channels);
#pragma unroll
    for (int k = 0; k < kFoldedPixels; ++k) sums[k] += load_value(dtype, from + own[k]);
  }

  const float share = 1 / static_cast<float>(steps.group);
  std::byte* to = value_of<Scalars>(call.target, site.t, site.y, site.x, site.channel);
#pragma unroll
  for (int k = 0; k < kFoldedPixels; ++k) {
    if (site.x + k * step >= end) break;
    const float value[1] = {sums[k] * share};
    Scalars::store(call.target.dtype, to + int64_t{k} * step * pixel_bytes<Scalars>(call.target), value);
  }
}

}  // namespace

void start(const SpaceToDepth& call, StreamHandle stream) {
  launch_sweep<1, kFoldedPixels>("space_to_depth", fold, call.region, call.target.channels, stream, call);
}

}  // namespace headroom::gpu
