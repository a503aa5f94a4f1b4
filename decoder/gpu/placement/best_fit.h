#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "decoder/gpu/placement/pass_requests.h"

namespace headroom {

/// Offsets by request in `bytes`: each takes the smallest gap of the moment when it comes. The first requests
/// have the offsets of `held`. Requests of a series lie one behind the other if all find room so. Empty where
/// a request finds no gap.
std::optional<std::vector<int64_t>> best_fit(const PassRequests& pass, std::span<const int64_t> held,
                                             int64_t bytes);

}  // namespace headroom
