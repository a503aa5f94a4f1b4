#include "decoder/gpu/kernels/access.h"
#include "decoder/gpu/kernels/kernels.h"

namespace headroom::gpu {
namespace {

constexpr int kPackThreads = 256;

/// The list that a thread block works on.
__device__ __forceinline__ int32_t list_of(const Pack& call, int32_t block) {
  int32_t list = 0;
  while (call.first_block[list + 1] <= block) ++list;
  return list;
}

struct PackedTap {
  int32_t output, frame, row, column, input;
};

__device__ __forceinline__ float stored_tap(const Pack::List& list, const PackedTap& at) {
  const int64_t offset = at.output * list.output + at.frame * list.frame + at.row * list.row +
                         at.column * list.column + at.input * list.input;
  return load_value(list.from_dtype, list.from + offset * Scalars::bytes(list.from_dtype));
}

/// Taps of the original kernel along one axis that a phase's tap sums: tap 0 of the even phase is w0 and tap
/// 1 is w1 + w2; those of the odd phase are w0 + w1 and w2.
struct Taps {
  int32_t first, count;
};
__device__ __forceinline__ Taps taps_of(int32_t phase, int32_t tap) {
  if (tap == 0) return {0, phase + 1};
  return {phase + 1, 2 - phase};
}

/// Sums in double, first along rows: the order of sum_phases().
__device__ __forceinline__ float phase_tap(const Pack::List& list, PackedTap at, int32_t phase) {
  const Taps rows = taps_of(phase / 2, at.row), columns = taps_of(phase % 2, at.column);
  double sum = 0;
  for (int32_t x = 0; x < columns.count; ++x) {
    at.column = columns.first + x;
    at.row = rows.first;
    double of_rows = stored_tap(list, at);
    for (int32_t y = 1; y < rows.count; ++y) {
      at.row = rows.first + y;
      of_rows += stored_tap(list, at);
    }
    sum = x == 0 ? of_rows : sum + of_rows;
  }
  return static_cast<float>(sum);
}

__device__ __forceinline__ double loaded(Dtype dtype, const std::byte* first, int64_t offset) {
  return load_value(dtype, first + offset * Scalars::bytes(dtype));
}

/// Products of two fp32 values are exact in double, so a fused multiply-add changes nothing.
__device__ __forceinline__ float product_tap(const Pack::List& list, const PackedTap& at) {
  double sum = 0;
  if (list.addend != nullptr) {
    const double addend = loaded(list.addend_dtype, list.addend, at.output * list.addend_output);
    sum = list.checks_addend ? addend - addend : addend;
  }
  for (int32_t m = 0; m < list.summed; ++m) {
    sum += loaded(list.by_dtype, list.by, at.output * list.by_output + m * list.by_summed) *
           loaded(list.from_dtype, list.from, m * list.output + at.input * list.input);
  }
  return static_cast<float>(sum * list.scale);
}

__device__ __forceinline__ float packed_value(const Pack::List& list, uint32_t number) {
  if (list.from == nullptr) return list.constant;
  const auto next = [&number](int32_t extent) {
    const uint32_t length = static_cast<uint32_t>(extent), quotient = number / length;
    const uint32_t rest = number - quotient * length;
    number = quotient;
    return static_cast<int32_t>(rest);
  };
  PackedTap at{};
  at.input = next(list.inputs);
  at.column = next(list.phases ? 2 : list.columns);
  at.row = next(list.phases ? 2 : list.rows);
  at.frame = next(list.frames);
  at.output = next(list.outputs);
  if (list.by != nullptr) return product_tap(list, at);
  return list.phases ? phase_tap(list, at, static_cast<int32_t>(number)) : stored_tap(list, at);
}

__global__ void __launch_bounds__(kPackThreads) pack_lists(const __grid_constant__ Pack call) {
  const auto block = static_cast<int32_t>(blockIdx.x);
  const int32_t number = list_of(call, block);
  const Pack::List& list = call.list[number];
  const int64_t first = int64_t{block - call.first_block[number]} * Pack::kBlockValues;
  const int64_t taps = list.phases ? 16 : int64_t{list.rows} * list.columns;
  const int64_t left = int64_t{list.outputs} * list.frames * list.inputs * taps - first;
  const auto count = static_cast<int32_t>(left < Pack::kBlockValues ? left : Pack::kBlockValues);
  bool finite = true;
  for (auto i = static_cast<int32_t>(threadIdx.x); i < count; i += kPackThreads) {
    const float value[1] = {packed_value(list, static_cast<uint32_t>(first + i))};
    finite = finite && is_finite(value[0]);
    Scalars::store(list.to_dtype, list.to + (first + i) * Scalars::bytes(list.to_dtype), value);
  }
  if (!finite) raise_flag(call.not_finite);
}

}  // namespace

void start(const Pack& call, StreamHandle stream) {
  launch({.kernel = "pack",
          .grid = dim3(static_cast<uint32_t>(call.first_block[call.lists])),
          .block = dim3(kPackThreads),
          .stream = stream},
         pack_lists, call);
}

}  // namespace headroom::gpu
