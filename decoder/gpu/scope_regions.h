#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// A smaller problem of placement in the place of a large one. Requests that are returned within their own
/// scope are inner ones. The inner requests of a scope are placed by themselves, in a region. Scopes that
/// follow one another and need about as much share one region, which is one request from the first of them to
/// the last. Then only the regions remain to be placed, and the requests that outlive their scope.
///
///     offset │ ┌────────── outer ──────────┐
///            │ ├─────────┬─────────┬───────┤
///            │ │ scope 0 │ scope 1 │scope 2│  one region
///            └─┴─────────┴─────────┴───────┴──▶ events
struct RegionedRequests {
  struct Offset {
    int64_t request = 0;  ///< one of `requests`: the region, or the request itself
    int64_t offset = 0;   ///< in the region; 0 for the request itself
  };
  MemoryRequests requests;      ///< regions and outer requests, without scopes
  std::vector<Offset> offsets;  ///< by request of the original ones
};

/// What `requests` become with a region for each run of scopes.
RegionedRequests regions_of(const MemoryRequests& requests);

}  // namespace headroom
