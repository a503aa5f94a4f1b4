#pragma once

#include <cstdint>
#include <vector>

#include "decoder/gpu/memory_requests.h"

namespace headroom {

/// Requests in which parts have regions: what a part hands back before it ends lies in one region that it
/// shares with the parts around it, and only regions and all else remain to be placed.
struct Regioned {
  struct Place {
    int64_t request = 0;  ///< of `requests`
    int64_t offset = 0;   ///< in it
  };
  MemoryRequests requests;    ///< without parts
  std::vector<Place> places;  ///< by request of those that had parts
};

/// Regions last as long as parts that need about as much follow one another.
Regioned regions_of(const MemoryRequests& requests);

}  // namespace headroom
