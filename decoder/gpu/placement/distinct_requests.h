#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/placement/memory_requests.h"

namespace headroom {

/// Requests that need offsets of their own.
struct Distinct {
  MemoryRequests requests;
  std::vector<int64_t> of;  ///< by original request: the kept request whose offset it uses
};

/// Leaves out requests that can use the offset of another request. There are two rules:
///
/// 1. A column of tiles that repeats an earlier one uses its offsets.
/// 2. Inner requests are returned within their own scope; all others are outer requests. Two scopes may make
///    inner requests in the same order. One of them is left out if each of its requests is no larger than its
///    counterpart, and every outer request live beside it is also live beside the counterpart. So one tile of
///    a band remains. Among bands beside a tensor that only grows or only shrinks, the band beside the most
///    memory remains.
///
/// Scopes of different passes never replace each other.
Distinct distinct_of(const MemoryRequests& requests);

}  // namespace headroom
