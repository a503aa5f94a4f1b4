#include <algorithm>
#include <vector>

#include "decoder/cpu/cpu_steps.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/cpu/rows.h"

namespace headroom::cpu_steps {
namespace {

constexpr float kOwnShare = 0.75f;

/// Blends 3/4 of the value at `own` with 1/4 of the value at `beside`. At an edge both positions are equal.
struct Blend {
  int64_t own = 0, beside = 0;
  float share(bool of_beside) const {
    if (own == beside) return of_beside ? 0.0f : 1.0f;
    return of_beside ? 1 - kOwnShare : kOwnShare;
  }
};

Blend blend_of(int64_t position, int32_t factor, const Interval& source) {
  if (factor == 1) return {position, position};
  const int64_t counted = position - source.begin, own = source.begin + counted / 2;
  return {own, std::clamp(counted % 2 == 0 ? own - 1 : own + 1, source.begin, source.end - 1)};
}

}  // namespace

void interpolate(CpuSteps&, const StepCall& call) {
  const MapView &source = call.inputs[0], &target = call.target;
  const Axes<int32_t>& factor = call.op->factor;
  const Extent& source_extent = call.source_extent;
  const Region& region = call.region;
  constexpr int64_t kChunkColumns = 32;  // columns blended at a time: they fit the second-level cache
  const int64_t channels = target.channels;
  const Interval columns{0, source_extent.x};
  for_rows(call.items, region, region.x.length() * channels, [&](const Row& row) {
    const Blend t = row.t == 0 ? Blend{} : blend_of(row.t, factor.t, {1, source_extent.t});
    const Blend y = blend_of(row.y, factor.y, {0, source_extent.y});
    std::vector<float> mixed, line;
    for (int64_t begin = region.x.begin; begin < region.x.end; begin += kChunkColumns) {
      const int64_t end = std::min(region.x.end, begin + kChunkColumns);
      const Blend first = blend_of(begin, factor.x, columns), last = blend_of(end - 1, factor.x, columns);
      const Interval read{std::min(first.own, first.beside), std::max(last.own, last.beside) + 1};
      const auto values = static_cast<size_t>(read.length() * channels);
      mixed.assign(values, 0.0f);
      line.resize(values);
      for (const bool other_frame : {false, true}) {
        for (const bool other_row : {false, true}) {
          const float share = t.share(other_frame) * y.share(other_row);
          if (share == 0) continue;
          const Row from{row.item, other_frame ? t.beside : t.own, other_row ? y.beside : y.own};
          kernels::widen(source.dtype, source.place(from, read.begin), line.data(), read.length() * channels);
          for (size_t i = 0; i < values; ++i) mixed[i] += share * line[i];
        }
      }
      float* to = target.at(row, begin);
      for (int64_t x = begin; x < end; ++x, to += channels) {
        const Blend blend = blend_of(x, factor.x, columns);
        const float* own = mixed.data() + (blend.own - read.begin) * channels;
        const float* beside = mixed.data() + (blend.beside - read.begin) * channels;
        if (own == beside) {
          std::copy_n(own, channels, to);
          continue;
        }
        for (int64_t c = 0; c < channels; ++c) to[c] = kOwnShare * own[c] + (1 - kOwnShare) * beside[c];
      }
    }
  });
}

void unfold_frames(CpuSteps&, const StepCall& call) {
  const MapView &first = call.inputs[0], &rest = call.inputs[1], &target = call.target;
  const Region& region = call.region;
  const int64_t channels = target.channels;
  for_rows(call.items, region, region.x.length() * channels, [&](const Row& row) {
    float* to = target.at(row, region.x.begin);
    if (row.t == 0) {
      kernels::widen(first.dtype, first.place(row, region.x.begin), to, region.x.length() * channels);
      return;
    }
    const Row folded{row.item, (row.t + 1) / 2, row.y};
    const int64_t half = row.t % 2 == 1 ? 0 : channels;
    for (int64_t x = region.x.begin; x < region.x.end; ++x, to += channels) {
      const auto* from =
          static_cast<const std::byte*>(rest.place(folded, x)) + half * bytes_per_element(rest.dtype);
      kernels::widen(rest.dtype, from, to, channels);
    }
  });
}

}  // namespace headroom::cpu_steps
