#pragma once

#include <cstdint>
#include <optional>

#include "decoder/gpu/placement.h"

namespace headroom {

/// Places the requests of one pass after another. Between two passes there are no tiles, only what is
/// kept. Where a pass finds no room around that, its requests are placed as if nothing lay anywhere
/// yet, and what stands is moved to where it is to lie then:
///
///      offset   pass 1        pass 2
///        6    ┌───────┐                         d, of pass 2, has room only where a and b lie one behind
///        5    │   b   ├──┐                      the other
///        4    ├───┬───┘  │    ┌───────┐
///        3    │ t │      │    │   d   │
///        2    ├───┴───┐  └───>├───────┤
///        1    │   a   │       │   b   │
///             │       │       │   a   │
///             └───────┘       └───────┘
///
/// Requests that cannot be moved lie below all others throughout.
/// Deterministic: what is found where it may take `most_bytes` is found where it may take no more than that
/// took. Takes more than `most_bytes` where it must. Empty where something that cannot be moved comes within
/// a pass and outlives it, where blocks cannot be brought to where they are to lie, and where `useless_bytes`
/// or more would be needed.
std::optional<Placement> place_by_pass(const MemoryRequests& requests, int64_t most_bytes,
                                       int64_t useless_bytes);

}  // namespace headroom
