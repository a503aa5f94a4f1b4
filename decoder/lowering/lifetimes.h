#pragma once

#include <vector>

#include "decoder/plan/plan.h"

namespace headroom {

/// For each step of a pass, the last step that reads its tile; itself where none does.
std::vector<size_t> last_uses(const Pass& pass);

/// The steps during which a step's own tile is there. None where it makes no tile.
struct Lifetime {
  size_t begin = 0, end = 0;  ///< half-open
  bool contains(size_t step) const { return begin <= step && step < end; }
};
/// For each step of a pass. Where a step takes its operand's tile over, that tile is the operand's while the
/// step runs and the step's own afterwards.
std::vector<Lifetime> tile_lifetimes(const Pass& pass);

}  // namespace headroom
