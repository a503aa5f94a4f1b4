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

/// By chunk of frames of its tiles the same: those in which every step makes as many frames, and has as many
/// of the chunk before. The first, which begins what is carried from chunk to chunk, and the last are like
/// themselves alone, and so are all where attention takes workspace by how many frames of keys there are so
/// far.
std::vector<size_t> like_chunks(const Graph& graph, const Pass& pass, const Extent& latent);

}  // namespace headroom
