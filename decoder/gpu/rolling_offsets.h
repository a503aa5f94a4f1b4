#pragma once

#include <optional>
#include <vector>

#include "decoder/gpu/live_range.h"
#include "decoder/gpu/placement.h"

namespace headroom {

/// Places the requests of a pass in `bytes`. The first of them stand when it begins, at the offsets of
/// `held`. Of the others, what is handed back in the scope in which it comes, as tiles are, lies as low as it
/// can; what stays longer as high as it can. Empty where that takes more.
///
/// In a pass that drains what it reads while it writes something else, what is free then stays in one piece,
/// which moves down through the memory, if what stands is stacked by when it goes:
///
///      ┌────────┐      ┌────────┐      ┌────────┐
///      │        │      │ new 0  │      │ new 0  │
///      │ tiles  │      ├────────┤      │ new 1  │
///      │        │      │        │      ├────────┤
///      ├────────┤      │ tiles  │      │        │
///      │ rows 0 │      │        │      │ tiles  │
///      │ rows 1 │      ├────────┤      │        │
///      │ rows 2 │      │ rows 1 │      ├────────┤
///      │  ...   │      │  ...   │      │  ...   │
///      └────────┘      └────────┘      └────────┘
std::optional<Placement> place_rolling(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
                                       const std::vector<int64_t>& held, int64_t bytes);

/// Offsets for the first `standing` requests, one on the other: those that go last lowest. Those that go in
/// one scope stay in the order in which they lie by `offsets`, so that they can be moved together.
std::vector<int64_t> stacked_by_end(const MemoryRequests& requests, const std::vector<LiveRange>& ranges,
                                    const std::vector<int64_t>& offsets);

}  // namespace headroom
