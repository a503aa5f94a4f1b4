#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "decoder/gpu/placement/buffers.h"

namespace headroom {

/// Offsets for all buffers within `capacity`. Empty where the search finds none within so many visits of
/// buffers, which proves nothing.
///
/// The search places one buffer after another by non-decreasing offset, each as low as it can lie on those
/// that were placed before. A section is a moment with as many live buffers as there can be: nothing that
/// begins later is live before something ends. A section needs its floor and the bytes of its unplaced
/// buffers. Where that is more than the capacity, the search backtracks. It places buffers that are left in
/// parts that share no section, and restarts with another order of preference after a few thousand
/// placements. Bounds and orders follow MiniMalloc (Moffitt 2023, doi:10.1145/3623278.3624752).
std::optional<std::vector<int64_t>> bounded_search(std::span<const Buffer> buffers, const Overlaps& overlaps,
                                                   int64_t capacity, int64_t most_visits);

}  // namespace headroom
