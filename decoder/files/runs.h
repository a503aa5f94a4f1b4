#pragma once

#include <algorithm>
#include <cstdint>

#include "decoder/graph/axes.h"

namespace headroom {

/// Pixels that follow one another both in a region's frame, row after row, and in the whole frame.
struct Run {
  int64_t source = 0;  ///< the first one, in the region's frame
  int64_t target = 0;  ///< the same in the whole frame
  int64_t count = 0;
};

/// Cuts one frame of a region into runs of at most `most` pixels, in order: whole rows together where the
/// region has all `columns`, otherwise a row or part of one. Calls f(run) for each.
template <typename F>
void for_each_run(const Region& region, int64_t columns, int64_t most, const F& f) {
  const bool full_width = region.x.length() == columns;
  const int64_t length = full_width ? region.y.length() * columns : region.x.length();
  const int64_t segments = full_width ? 1 : region.y.length();
  for (int64_t segment = 0; segment < segments; ++segment) {
    const int64_t source = segment * length;
    const int64_t target = (region.y.begin + segment) * columns + region.x.begin;
    for (int64_t begin = 0; begin < length; begin += most) {
      f(Run{source + begin, target + begin, std::min(most, length - begin)});
    }
  }
}

}  // namespace headroom
