#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// Requests without those that can lie where others lie.
struct Distinct {
  MemoryRequests requests;
  std::vector<int64_t> of;  ///< by request of the original ones: the request here that stands for it
};

/// What repeats an earlier column of tiles lies where that lies. Of what is left, requests that are returned
/// within their own scope are inner ones, all others outer ones. Where two scopes ask for inner requests in
/// the same order, the first need not be placed if each of its requests is no larger than that of the second,
/// and no outer request meets it that does not meet that of the second as well: then wherever the second
/// one's lie, those of the first can lie too. So of the tiles of a band one remains, narrower ones at the
/// picture's edges included, and of bands beside a tensor that only grows, or only shrinks, the one with most
/// beside it. Scopes of two passes do not stand for one another.
Distinct distinct_of(const MemoryRequests& requests);

}  // namespace headroom
