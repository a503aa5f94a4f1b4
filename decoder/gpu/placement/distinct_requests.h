#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/placement/memory_requests.h"

namespace headroom {

/// Requests without those that can lie where others lie.
struct Distinct {
  MemoryRequests requests;
  std::vector<int64_t> of;  ///< by request of the original ones: the request here that stands for it
};

/// Leaves out requests that can lie where others lie.
/// 1. A column of tiles that repeats an earlier one lies where that lies.
/// 2. Requests that are returned within their own scope are inner ones, all others outer ones. Two scopes may
///    make inner requests in the same order. One of them is left out if each of its requests is no larger
///    than its counterpart, and each outer request that meets it meets the counterpart too. So one tile of a
///    band remains, and of bands beside a tensor that only grows, or only shrinks, the one with most beside
///    it.
/// Scopes of two passes do not stand for one another.
Distinct distinct_of(const MemoryRequests& requests);

}  // namespace headroom
