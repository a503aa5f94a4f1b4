#pragma once

#include <cstddef>
#include <vector>

#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom {

/// By column of a pass's tiles the first one that asks for the same memory, which may be itself: one in which
/// the tile of every step is as wide. Most passes have two or three that differ between the edges. The first
/// column, in which blocks are acquired, and the last are like themselves alone, so that whoever leaves out
/// those that are like others begins and ends each band as it is.
std::vector<size_t> like_columns(const Graph& graph, const Pass& pass, const Extent& latent);

}  // namespace headroom
