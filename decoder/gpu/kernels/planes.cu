#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr int kPlanesThreads = 256;

/// Position of a thread. It handles all channels, so that neighbouring threads touch neighbouring values of a
/// plane.
struct Place {
  int32_t t = 0, y = 0, x = 0;
  bool present = false;
};

__device__ __forceinline__ Place place_in(const Box& box) {
  const int64_t columns = box.x.end - box.x.begin, rows = box.y.end - box.y.begin;
  const int64_t number = int64_t{blockIdx.x} * kPlanesThreads + threadIdx.x, row = number / columns;
  const int64_t frame = row / rows;
  Place place;
  place.present = frame < box.t.end - box.t.begin;
  place.t = box.t.begin + static_cast<int32_t>(frame);
  place.y = box.y.begin + static_cast<int32_t>(row - frame * rows);
  place.x = box.x.begin + static_cast<int32_t>(number - row * columns);
  return place;
}

/// Address of channel 0.
__device__ __forceinline__ std::byte* in_planes(const Planes& planes, const Place& at) {
  const int64_t offset = at.t * planes.frame + at.y * planes.row + at.x * planes.column;
  return planes.first + offset * Scalars::bytes(planes.dtype);
}

__global__ void __launch_bounds__(kPlanesThreads) emit_to_planes(const __grid_constant__ EmitPlanes call) {
  const Place at = place_in(call.region);
  if (!at.present) return;
  const std::byte* from = pixel_of<Scalars>(call.source, at.t, at.y, at.x);
  std::byte* to = in_planes(call.target, at);
  bool finite = true;
  for (int32_t channel = 0; channel < call.source.channels; ++channel) {
    float value[1] = {load_value(call.source.dtype, from)};
    if (call.shift != 0) value[0] += call.shift;  // adding 0 would turn -0 into +0
    finite = finite && is_finite(value[0]);
    Scalars::store(call.target.dtype, to, value);
    from += Scalars::bytes(call.source.dtype);
    to += call.target.channel * Scalars::bytes(call.target.dtype);
  }
  if (!finite) raise_flag(call.not_finite);
}

__global__ void __launch_bounds__(kPlanesThreads) load_from_planes(const __grid_constant__ LoadPlanes call) {
  const Place at = place_in(call.target.region);
  if (!at.present) return;
  const std::byte* from = in_planes(call.source, at);
  std::byte* to = pixel_of<Scalars>(call.target, at.t, at.y, at.x);
  bool finite = true;
  for (int32_t channel = 0; channel < call.target.channels; ++channel) {
    const float value[1] = {load_value(call.source.dtype, from)};
    finite = finite && is_finite(value[0]);
    Scalars::store(call.target.dtype, to, value);
    from += call.source.channel * Scalars::bytes(call.source.dtype);
    to += Scalars::bytes(call.target.dtype);
  }
  if (!finite) raise_flag(call.not_finite);
}

Launch launch_of(const char* kernel, const Box& region, StreamHandle stream) {
  const int64_t places = int64_t{length(region.t)} * length(region.y) * length(region.x);
  return {.kernel = kernel,
          .grid = dim3(static_cast<uint32_t>((places + kPlanesThreads - 1) / kPlanesThreads)),
          .block = dim3(kPlanesThreads),
          .stream = stream};
}

}  // namespace

void start(const EmitPlanes& call, StreamHandle stream) {
  launch(launch_of("emit planes", call.region, stream), emit_to_planes, call);
}

void start(const LoadPlanes& call, StreamHandle stream) {
  launch(launch_of("load planes", call.target.region, stream), load_from_planes, call);
}

}  // namespace headroom::gpu
