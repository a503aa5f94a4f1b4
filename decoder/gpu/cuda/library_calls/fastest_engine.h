#pragma once

#include <cstddef>
#include <functional>

namespace headroom::gpu {

/// The fastest of several engines, and the time of one of its runs beside the first engine's.
struct FastestEngine {
  size_t engine = 0;
  double seconds = 0, first_seconds = 0;
};

/// Times engines in rounds, so that a drift of the card's clock affects all of them. After a round of
/// warm-up, it drops the clearly slower ones, and the shortest of several times counts. The first engine wins
/// unless another one is faster by more than the noise. `time` runs engine `engine` a number of times in a
/// row and returns the seconds of one run. `count` must be at least 1.
FastestEngine fastest_engine(size_t count, const std::function<double(size_t engine, int runs)>& time);

}  // namespace headroom::gpu
