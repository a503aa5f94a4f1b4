#include "decoder/cpu/cpu_steps.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/loops/norm.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"
#include "decoder/graph/geometry.h"

namespace headroom {
namespace {

/// Position inside the extent whose values are copied to `at`, which may lie outside.
int64_t copied_position(Edges edges, int64_t at, int64_t extent) {
  if (edges == Edges::replicate) return std::clamp<int64_t>(at, 0, extent - 1);
  if (extent == 1) return 0;
  const int64_t period = 2 * (extent - 1), distance = std::abs(at) % period;  // from a mirror at 0
  return std::min(distance, period - distance);
}

/// Values converted at a time: they fit the first-level cache.
constexpr int64_t kChunk = 4096;

}  // namespace

void copy_region(const MapView& source, const MapView& target, const Region& region, int64_t items) {
  const int64_t values = region.x.length() * source.channels;
  for_rows(items, region, values, [&](const Row& row) {
    const void* from = source.place(row, region.x.begin);
    void* to = target.place(row, region.x.begin);
    if (source.dtype == target.dtype) {
      std::memcpy(to, from, static_cast<size_t>(values * bytes_per_element(source.dtype)));
    } else if (source.dtype == Dtype::fp32) {
      kernels::narrow(target.dtype, static_cast<const float*>(from), to, values);
    } else {
      kernels::widen(source.dtype, from, static_cast<float*>(to), values);
    }
  });
}

void round_tile(const MapView& tile, Dtype dtype, int64_t items) {
  if (dtype == Dtype::fp32) return;
  const int64_t values = tile.region.x.length() * tile.channels;
  for_rows(items, tile.region, values,
           [&](const Row& row) { kernels::round_to(dtype, tile.at(row, tile.region.x.begin), values); });
}

void activate_region(const MapView& tile, Activation activation, const Region& region, int64_t items) {
  if (activation == Activation::none) return;
  const int64_t values = region.x.length() * tile.channels;
  for_rows(items, region, values,
           [&](const Row& row) { kernels::activate(tile.at(row, region.x.begin), values, activation); });
}

void fill_outside(const MapView& tile, Edges edges, const Extent& picture, int64_t items) {
  const Region part = inside(tile.region, picture), &all = tile.region;
  if (part == all) return;
  if (edges == Edges::zeros)
    return for_rows_inside(tile, picture, items, [](const Row&, const Region&, float*) {});
  const auto copy = [&](const Row& from, int64_t x_from, const Row& to, int64_t x_to, int64_t pixels) {
    std::memcpy(tile.at(to, x_to), tile.at(from, x_from),
                static_cast<size_t>(pixels * tile.channels) * sizeof(float));
  };
  // The loop reads only positions inside and writes only positions outside, so rows are independent.
  for_rows(items, all, all.x.length() * tile.channels, [&](const Row& row) {
    const Row from{row.item, row.t, copied_position(edges, row.y, picture.y)};
    const auto copy_columns = [&](const Interval& columns) {
      for (int64_t x = columns.begin; x < columns.end; ++x)
        copy(from, copied_position(edges, x, picture.x), row, x, 1);
    };
    copy_columns({all.x.begin, part.x.begin});
    if (from.y != row.y) copy(from, part.x.begin, row, part.x.begin, part.x.length());
    copy_columns({part.x.end, all.x.end});
  });
}

namespace cpu_steps {

void gather(CpuSteps&, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  for_rows_inside(target, call.result_extent, call.items, [&](const Row& row, const Region& part, float* to) {
    kernels::widen(source.dtype, source.place(row, part.x.begin), to, part.x.length() * target.channels);
  });
}

void store(CpuSteps&, const StepCall& call) {
  copy_region(call.inputs[0], call.target, call.region, call.items);
}

/// Adds in fp32. A 16-bit target is rounded once.
void add(CpuSteps&, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  const Region& region = call.region;
  const int64_t values = region.x.length() * source.channels;
  for_rows(call.items, region, values, [&](const Row& row) {
    const auto* from = static_cast<const std::byte*>(source.place(row, region.x.begin));
    auto* to = static_cast<std::byte*>(target.place(row, region.x.begin));
    float terms[kChunk], sums[kChunk];
    for (int64_t i = 0; i < values; i += kChunk) {
      const int64_t count = std::min(kChunk, values - i);
      const std::byte* from_chunk = from + i * bytes_per_element(source.dtype);
      std::byte* to_chunk = to + i * bytes_per_element(target.dtype);
      const bool direct = target.dtype == Dtype::fp32;
      float* sum = direct ? reinterpret_cast<float*>(to_chunk) : sums;
      const float* term = reinterpret_cast<const float*>(from_chunk);
      if (!direct) kernels::widen(target.dtype, to_chunk, sum, count);
      if (source.dtype != Dtype::fp32) {
        kernels::widen(source.dtype, from_chunk, terms, count);
        term = terms;
      }
      for (int64_t k = 0; k < count; ++k) sum[k] += term[k];
      kernels::activate(sum, count, call.activation());
      if (!direct) kernels::narrow(target.dtype, sum, to_chunk, count);
    }
  });
}

void accumulate(CpuSteps& steps, const StepCall& call) {
  add(steps, call);
}

void upsample(CpuSteps&, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  const Axes<int32_t>& factor = call.op->factor;
  for_rows_inside(target, call.result_extent, call.items, [&](const Row& row, const Region& part, float* to) {
    for (int64_t x = part.x.begin; x < part.x.end; ++x, to += target.channels) {
      kernels::widen(source.dtype, source.place({row.item, row.t, row.y / factor.y}, x / factor.x), to,
                     target.channels);
    }
  });
}

void activate(CpuSteps& steps, const StepCall& call) {
  gather(steps, call);
  activate_region(call.target, call.activation(), call.inside(), call.items);
}

}  // namespace cpu_steps
}  // namespace headroom

namespace headroom::cpu_steps {

void gate(CpuSteps&, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  const int64_t channels = target.channels;
  for_rows(call.items, call.region, call.region.x.length() * source.channels, [&](const Row& row) {
    std::vector<float> pixel(static_cast<size_t>(source.channels));
    float* gates = pixel.data() + channels;
    for (int64_t x = call.region.x.begin; x < call.region.x.end; ++x) {
      kernels::widen(source.dtype, source.place(row, x), pixel.data(), source.channels);
      kernels::activate(gates, channels, Activation::silu);
      float* to = target.at(row, x);
      for (int64_t c = 0; c < channels; ++c) to[c] = pixel[static_cast<size_t>(c)] * gates[c];
    }
  });
}

void modulate(CpuSteps&, const StepCall& call) {
  const MapView &source = call.inputs[0], &factors = call.inputs[1], &target = call.target;
  const int64_t channels = target.channels;
  const Region region = call.inside();
  for_rows(call.items, region, region.x.length() * channels, [&](const Row& row) {
    std::vector<float> pixel(static_cast<size_t>(2 * channels));
    float* first = target.at(row, region.x.begin);
    kernels::widen(source.dtype, source.place(row, region.x.begin), first, region.x.length() * channels);
    float* to = first;
    for (int64_t x = region.x.begin; x < region.x.end; ++x, to += channels) {
      kernels::widen(factors.dtype, factors.place(row, x), pixel.data(), 2 * channels);
      const float *scale = pixel.data(), *shift = scale + channels;
      for (int64_t c = 0; c < channels; ++c) to[c] = to[c] * scale[c] + shift[c];
    }
    kernels::activate(first, region.x.length() * channels, call.activation());
  });
}

}  // namespace headroom::cpu_steps
