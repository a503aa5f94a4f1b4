#pragma once

#include <algorithm>
#include <cstdint>

#include "decoder/cpu/threads.h"
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

}  // namespace headroom
