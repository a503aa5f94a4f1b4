#pragma once

#include <vector>

#include "decoder/plan/plan.h"

namespace headroom {

/// For each step of a pass, the last step that reads its tile, or the step itself if none does.
std::vector<size_t> last_uses(const Pass& pass);

/// The steps during which a step's own tile is live. Empty if it makes no tile.
struct Lifetime {
  size_t begin = 0, end = 0;  ///< half-open
  bool contains(size_t step) const { return begin <= step && step < end; }
};
/// Lifetimes of all steps of a pass. If a step reuses its operand's tile, the tile belongs to the operand
/// while the step runs and to the step afterwards.
std::vector<Lifetime> tile_lifetimes(const Pass& pass);

}  // namespace headroom
