#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "decoder/gpu/placement/pass_requests.h"

namespace headroom {

/// Best-fit offsets within `bytes`: each request takes the smallest sufficient gap at the time of the
/// request. The first requests have the offsets of `held`. Requests of a series are contiguous if possible.
/// Empty if a request finds no gap.
std::optional<std::vector<int64_t>> best_fit(const PassRequests& pass, std::span<const int64_t> held,
                                             int64_t bytes);

}  // namespace headroom
