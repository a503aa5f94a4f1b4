#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "decoder/cpu/threads.h"
#include "decoder/graph/geometry.h"
#include "decoder/interpreter/map_view.h"

namespace headroom {

/// Runs f(i) for every i of [0, count) on all threads.
template <typename F>
void for_lines(int64_t count, int64_t values_per_line, const F& f) {
  constexpr int64_t kGrainValues = 1 << 15;  // below this, waking a thread costs more than it saves
  const int64_t grain = std::max<int64_t>(1, kGrainValues / std::max<int64_t>(values_per_line, 1));
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

/// Row `number` of a region, counted through the frames and then the items.
inline Row row_of(const Region& region, int64_t number) {
  const int64_t rows = region.y.length(), frames = region.t.length();
  return {number / rows / frames, region.t.begin + number / rows % frames, region.y.begin + number % rows};
}

/// Runs f(row) for every row of every frame of every item of a region on all threads.
template <typename F>
void for_rows(int64_t items, const Region& region, int64_t values_per_row, const F& f) {
  for_lines(items * region.t.length() * region.y.length(), values_per_row,
            [&](int64_t i) { f(row_of(region, i)); });
}

inline void zero(float* pixels, int64_t count, int64_t channels) {
  if (count > 0) std::memset(pixels, 0, static_cast<size_t>(count * channels) * sizeof(float));
}

/// Fills all rows of the target. For rows inside the picture, make(row, part, pixels) writes the columns of
/// `part`, which begin at `pixels`. All else becomes zero.
template <typename Make>
void for_rows_inside(const MapView& target, const Extent& picture, int64_t items, const Make& make) {
  const Region part = inside(target.region, picture);
  const int64_t columns = target.region.x.length(), channels = target.channels;
  for_rows(items, target.region, columns * channels, [&](const Row& row) {
    float* line = target.at(row, target.region.x.begin);
    if (row.y < part.y.begin || row.y >= part.y.end) return zero(line, columns, channels);
    zero(line, part.x.begin - target.region.x.begin, channels);
    make(row, part, line + (part.x.begin - target.region.x.begin) * channels);
    zero(line + (part.x.end - target.region.x.begin) * channels, target.region.x.end - part.x.end, channels);
  });
}

}  // namespace headroom
