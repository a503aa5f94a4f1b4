#pragma once

#include <algorithm>
#include <cstdint>

#include "decoder/base/axes.h"

namespace headroom {

/// Pixels that are contiguous both in a region's frame and in the whole frame.
struct Run {
  int64_t source = 0;  ///< index of the first pixel in the region's frame
  int64_t target = 0;  ///< index of the first pixel in the whole frame
  int64_t count = 0;
};

/// Splits one frame of a region into runs of at most `most` pixels and calls f(run) for each, in order. A
/// region with all `columns` gives runs over several rows; otherwise a run lies in one row.
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
