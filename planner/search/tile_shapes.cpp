#include "planner/search/tile_shapes.h"

namespace headroom::planner {
namespace {

constexpr int64_t kLeastRows = 4;
constexpr int64_t kLeastColumns = 32;
constexpr int64_t kMostBands = 128;  // keeps planning time independent of the picture's height
constexpr int64_t kMostWidths = 6;
constexpr int64_t kLongestChunk = 8;  // in frames, unless the chunk has all frames

std::vector<int64_t> halvings(int64_t length, int64_t least, int64_t most) {
  std::vector<int64_t> lengths{length};
  int64_t power = least;
  while (power * 2 < length) power *= 2;
  for (; power >= least && power < length && static_cast<int64_t>(lengths.size()) < most; power /= 2)
    lengths.push_back(power);
  return lengths;
}

}  // namespace

std::vector<int64_t> tile_heights(int64_t length) {
  int64_t least = kLeastRows;
  while (least * kMostBands < length) least *= 2;
  return halvings(length, least, 64);
}

std::vector<int64_t> tile_widths(int64_t length) {
  return halvings(length, kLeastColumns, kMostWidths);
}

std::vector<int64_t> chunk_lengths(int64_t frames) {
  std::vector<int64_t> lengths{frames};
  for (int64_t length = kLongestChunk; length > 0; length /= 2) {
    if (length < frames) lengths.push_back(length);
  }
  return lengths;
}

}  // namespace headroom::planner
