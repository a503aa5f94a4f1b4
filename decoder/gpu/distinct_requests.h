#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// Requests without those that repeat earlier ones, and without scopes.
struct Distinct {
  MemoryRequests requests;
  std::vector<int64_t> of;  ///< by request of the original ones: the request here that stands for it
};

/// Where scopes that follow one another ask for the same and return all of it, only the first remains:
/// whatever else is live is the same for all of them, so they can use the same offsets.
Distinct distinct_of(const MemoryRequests& requests);

}  // namespace headroom
