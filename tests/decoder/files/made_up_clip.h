#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "decoder/files/picture_sink.h"
#include "tests/support/random.h"

namespace headroom::test {

/// The 8-bit value that a made-up clip has at a position; neighbours along every axis differ.
inline uint8_t clip_byte(int64_t item, int64_t t, int64_t y, int64_t x, int64_t c) {
  return static_cast<uint8_t>(item * 31 + t * 43 + y * 7 + x * 3 + c * 101 + y * x + t * x);
}

/// One frame of it, [rows][columns][channels].
inline std::vector<uint8_t> clip_frame(const PictureShape& shape, int64_t item, int64_t t) {
  std::vector<uint8_t> bytes;
  for (int64_t y = 0; y < shape.rows; ++y)
    for (int64_t x = 0; x < shape.columns; ++x)
      for (int64_t c = 0; c < shape.channels; ++c) bytes.push_back(clip_byte(item, t, y, x, c));
  return bytes;
}

inline void write_clip_region(PictureSink& sink, int64_t item, const Region& region) {
  std::vector<float> pixels;
  for (int64_t t = region.t.begin; t < region.t.end; ++t)
    for (int64_t y = region.y.begin; y < region.y.end; ++y)
      for (int64_t x = region.x.begin; x < region.x.end; ++x)
        for (int64_t c = 0; c < sink.shape().channels; ++c)
          pixels.push_back(static_cast<float>(clip_byte(item, t, y, x, c)) / 255.0f * 2.0f - 1.0f);
  sink.write(item, region, pixels.data());
}

/// Intervals of at most `step` positions that make up [0, extent).
inline std::vector<Interval> cut(int64_t extent, int64_t step) {
  std::vector<Interval> parts;
  for (int64_t begin = 0; begin < extent; begin += step)
    parts.push_back({begin, std::min(begin + step, extent)});
  return parts;
}

/// The clip in tiles of at most this many rows and columns; each brings all its frames, in chunks, before the
/// next one begins.
inline std::vector<Region> tiles_with_chunks(const PictureShape& shape, const Extent& most) {
  std::vector<Region> regions;
  for (const Interval& y : cut(shape.rows, most.y))
    for (const Interval& x : cut(shape.columns, most.x))
      for (const Interval& t : cut(shape.frames, most.t)) regions.push_back({t, y, x});
  return regions;
}

inline std::vector<Region> shuffled(std::vector<Region> regions, uint64_t seed) {
  Random random(seed);
  for (size_t i = regions.size() - 1; i > 0; --i)
    std::swap(regions[i], regions[static_cast<size_t>(random.integer(0, static_cast<int64_t>(i)))]);
  return regions;
}

/// A clip of these frames, rows and columns, in ways in which it may come.
inline std::vector<std::vector<Region>> ways_to_come(const PictureShape& shape) {
  const auto tiles = [&](int64_t t, int64_t y, int64_t x) { return tiles_with_chunks(shape, {t, y, x}); };
  const std::vector<Region> whole_frames = tiles(1, shape.rows, shape.columns);
  return {whole_frames,
          {whole_frames.rbegin(), whole_frames.rend()},
          tiles(3, shape.rows, shape.columns),
          tiles(shape.frames, shape.rows, shape.columns),
          tiles(1, 4, shape.columns),
          tiles(2, 4, shape.columns),
          tiles(2, 4, 5),
          shuffled(tiles(2, 4, 5), 7),
          tiles(shape.frames, shape.rows, 3)};
}

}  // namespace headroom::test
