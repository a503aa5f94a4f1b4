#include "decoder/gpu/kernels/kernels.h"
#include "decoder/gpu/kernels/sweep.h"

namespace headroom::gpu {
namespace {

constexpr int kEmitThreads = 256;
constexpr int kEmittedBytes = 16;  // bytes per store of a thread to host memory

/// A thread computes neighbouring output values, across ends of rows. It reads them one by one: the transfer
/// to the host is the bottleneck.
template <PixelFormat format>
__global__ void __launch_bounds__(kEmitThreads) emit_pixels(const __grid_constant__ Emit call) {
  constexpr int kPerWord = format == PixelFormat::fp32 ? 1 : 4, kValues = kEmittedBytes / 4 * kPerWord;
  const Box& box = call.region;
  const int64_t row_values = int64_t{box.x.end - box.x.begin} * call.source.channels;
  const int32_t rows = box.y.end - box.y.begin;
  const int64_t values = int64_t{box.t.end - box.t.begin} * rows * row_values;
  const int64_t first = (int64_t{blockIdx.x} * kEmitThreads + threadIdx.x) * kValues;
  if (first >= values) return;
  int64_t row = first / row_values, in_row = first - row * row_values;
  const std::byte* from = nullptr;
  uint32_t words[kEmittedBytes / 4] = {};
  bool finite = true;
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    if (first + i >= values) break;
    if (in_row == row_values) {
      in_row = 0;
      ++row;
    }
    if (i == 0 || in_row == 0) {
      const auto t = static_cast<int32_t>(row / rows), y = static_cast<int32_t>(row - int64_t{t} * rows);
      from = pixel_of<Scalars>(call.source, box.t.begin + t, box.y.begin + y, box.x.begin) +
             in_row * Scalars::bytes(call.source.dtype);
    }
    float value = load_value(call.source.dtype, from);
    if (call.shift != 0) value += call.shift;  // adding 0 would turn -0 into +0
    finite = finite && is_finite(value);
    if constexpr (format == PixelFormat::fp32) {
      words[i] = bits_of(value);
    } else {
      words[i / 4] |= (bits_of(with_eight_bits(value)) & 0xff) << i % 4 * 8;
    }
    from += Scalars::bytes(call.source.dtype);
    ++in_row;
  }
  if (!finite) raise_flag(call.not_finite);
  std::byte* to = call.pixels + first * (kEmittedBytes / kValues);
  if (first + kValues <= values) {
    *reinterpret_cast<uint4*>(to) = uint4{words[0], words[1], words[2], words[3]};
    return;
  }
  const auto left = static_cast<int>(values - first);
#pragma unroll
  for (int i = 0; i < kValues; ++i) {
    if (i >= left) break;
    if constexpr (format == PixelFormat::fp32) {
      reinterpret_cast<uint32_t*>(to)[i] = words[i];
    } else {
      to[i] = static_cast<std::byte>(words[i / 4] >> i % 4 * 8 & 0xff);
    }
  }
}

__global__ void __launch_bounds__(kEmitThreads) check_finite(const __grid_constant__ CheckFinite call) {
  bool finite = true;
  for (int64_t i = int64_t{blockIdx.x} * kEmitThreads + threadIdx.x; i < call.count;
       i += int64_t{gridDim.x} * kEmitThreads)
    finite = finite && is_finite(call.values[i]);
  if (!finite) raise_flag(call.not_finite);
}

uint32_t blocks_for(int64_t threads) {
  return static_cast<uint32_t>((threads + kEmitThreads - 1) / kEmitThreads);
}

template <PixelFormat format>
void start_emit(const Emit& call, StreamHandle stream) {
  constexpr int64_t kValues = kEmittedBytes / bytes_per_value(format);
  const int64_t values =
      int64_t{length(call.region.t)} * length(call.region.y) * length(call.region.x) * call.source.channels;
  launch({.kernel = "emit",
          .grid = dim3(blocks_for((values + kValues - 1) / kValues)),
          .block = dim3(kEmitThreads),
          .stream = stream},
         emit_pixels<format>, call);
}

}  // namespace

void start(const Emit& call, StreamHandle stream) {
  if (call.format == PixelFormat::fp32) return start_emit<PixelFormat::fp32>(call, stream);
  start_emit<PixelFormat::eight_bits>(call, stream);
}

void start(const CheckFinite& call, StreamHandle stream) {
  constexpr uint32_t kCheckBlocks = 64;
  launch({.kernel = "check finite",
          .grid = dim3(std::min(kCheckBlocks, blocks_for(call.count))),
          .block = dim3(kEmitThreads),
          .stream = stream},
         check_finite, call);
}

}  // namespace headroom::gpu
