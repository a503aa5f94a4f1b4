#pragma once

#include <cstdint>
#include <optional>

#include "decoder/graph/axes.h"

namespace headroom {

/// How a model's own code cuts a decode along one axis into tiles that overlap, decodes each by itself and
/// fades neighbours into each other. Such a decode is another picture than the untiled one.
struct TileRule {
  int64_t extent = 0;  ///< latent positions of a tile; the last ones have what is left
  int64_t stride = 0;  ///< latent positions from one tile to the next
  int64_t fade = 0;    ///< output positions over which a tile comes up from under the one before
  int64_t step = 1;    ///< output positions that share one weight
  int64_t whole = 0;   ///< a latent of at most so many positions is not cut
  /// The first output position of each tile but the first is dropped.
  bool drops_first = false;
  friend bool operator==(const TileRule&, const TileRule&) = default;
};

/// Tiles that overlap by a quarter, of a decoder with this scale along the axis.
TileRule rule_of_quarters(int64_t extent, int64_t scale);

/// The rules of one class.
struct PublishedTiles {
  std::optional<TileRule> frames;
  /// Both are cut where either has to be.
  TileRule rows, columns;
  /// Where a decoder clamps its values, blended tiles are clamped as well, once; or that is left out.
  bool clamps = true;
};

/// Settings as diffusers' classes of clips have them, in output positions: the numbers that these are made
/// with. enable_tiling() takes others.
struct TileSettings {
  int64_t height = 256, width = 256, frames = 16;
  int64_t stride_height = 192, stride_width = 192, stride_frames = 12;
};

/// The rules that these settings make of a decoder with this scale, which blends patches of so many pixels;
/// whose frames are cut as well, or not. Empty where tiles would not lie at whole positions.
std::optional<PublishedTiles> tiles_of_settings(const TileSettings& settings, const Axes<int32_t>& scale,
                                                int64_t patch, bool cuts_frames);

}  // namespace headroom
