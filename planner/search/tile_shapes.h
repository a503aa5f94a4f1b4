#pragma once

#include <cstdint>
#include <vector>

// Which tiles are tried: every height with every width and every length of chunks. TileChoice picks among
// them (planner/search/tile_choice.h).
namespace headroom::planner {

/// Heights and widths of the tiles that are tried in a grid of this length: the whole, and powers of two.
std::vector<int64_t> tile_heights(int64_t length);
std::vector<int64_t> tile_widths(int64_t length);
/// Frames of the chunks that are tried: all of them first, then few, down to one.
std::vector<int64_t> chunk_lengths(int64_t frames);

}  // namespace headroom::planner
