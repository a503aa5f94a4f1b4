#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "decoder/gpu/placement/buffers.h"

namespace headroom {

/// Offsets for all buffers within `capacity`. Empty if the search finds none within `most_visits` visits of
/// buffers; a solution may still exist.
///
/// The search places buffers by non-decreasing offset, each as low as the placed buffers allow. A section is
/// a maximal set of buffers that are live at one moment. A lower bound on the height of a section is its
/// floor plus the bytes of its unplaced buffers. If the bound exceeds the capacity, the search backtracks.
/// It splits unplaced buffers into parts that share no section, and solves the parts one by one. After a few
/// thousand placements it restarts with another order of preference. Bounds and orders follow MiniMalloc
/// (Moffitt 2023, doi:10.1145/3623278.3624752).
std::optional<std::vector<int64_t>> bounded_search(std::span<const Buffer> buffers, const Overlaps& overlaps,
                                                   int64_t capacity, int64_t most_visits);

}  // namespace headroom
