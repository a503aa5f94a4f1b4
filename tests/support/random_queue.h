#pragma once

#include <algorithm>
#include <string>

#include "decoder/plan/requests.h"
#include "tests/support/random.h"

namespace headroom::test {

/// A random queue of a few shapes. Picture sizes are multiples of `unit` pixels.
inline RequestQueue random_queue(Random& random, int64_t unit, int64_t most_requests, int64_t most_count) {
  RequestQueue queue;
  const int64_t requests = random.integer(1, most_requests);
  for (int64_t i = 0; i < requests; ++i) {
    QueuedRequest request;
    request.name = "request " + std::to_string(i);
    request.width_pixels = unit * random.integer(3, 6);
    request.height_pixels = unit * random.integer(3, 5);
    request.batch = random.chance(0.2) ? 2 : 1;
    request.count = random.chance(0.3) ? random.integer(1, most_count) : 1;
    request.output = "out-" + std::to_string(i) + "-{i}.npy";
    queue.requests.push_back(request);
  }
  return queue;
}

}  // namespace headroom::test
