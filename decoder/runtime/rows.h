#pragma once

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>

#include "decoder/graph/axes.h"

namespace headroom {

/// Runs f(item, y) for every row of every item on all threads.
template <typename F>
void for_rows(int64_t items, const Interval& rows, int64_t values_per_row, const F& f) {
  constexpr int64_t kGrainValues = 1 << 15;  // below this, waking a thread costs more than it saves
  const int64_t grain = std::max<int64_t>(1, kGrainValues / std::max<int64_t>(values_per_row, 1));
  at::parallel_for(0, items * rows.length(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i / rows.length(), rows.begin + i % rows.length());
  });
}

}  // namespace headroom
