#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// Requests without those that are like earlier ones. It has no parts.
struct Distinct {
  MemoryRequests requests;
  std::vector<int64_t> of;  ///< by request: the one that stands for it
};

/// Of parts that ask for the same one after another only the first remains: what else is live is the same for
/// all of them.
Distinct distinct_of(const MemoryRequests& requests);

}  // namespace headroom
