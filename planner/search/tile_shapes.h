#pragma once

#include <cstdint>
#include <vector>

// Candidate tiles: every combination of height, width and chunk length. TileChoice picks among them
// (planner/search/tile_choice.h).
namespace headroom::planner {

/// Tile heights and widths to try along a grid axis of this length: the whole length, and powers of two.
std::vector<int64_t> tile_heights(int64_t length);
std::vector<int64_t> tile_widths(int64_t length);
/// Chunk lengths to try, in frames: all frames first, then shorter chunks down to one frame.
std::vector<int64_t> chunk_lengths(int64_t frames);

}  // namespace headroom::planner
