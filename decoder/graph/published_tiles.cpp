#include "decoder/graph/published_tiles.h"

namespace headroom {
namespace {

/// Along one axis of a picture.
std::optional<TileRule> rule_of(int64_t pixels, int64_t stride, int32_t scale, int64_t patch) {
  if (stride < 1 || stride > pixels || pixels % scale != 0 || stride % scale != 0 || scale % patch != 0)
    return std::nullopt;
  return TileRule{.extent = pixels / scale,
                  .stride = stride / scale,
                  .fade = pixels - stride,
                  .step = patch,
                  .whole = pixels / scale};
}

}  // namespace

TileRule rule_of_quarters(int64_t extent, int64_t scale) {
  return {.extent = extent, .stride = extent * 3 / 4, .fade = extent * scale / 4, .whole = extent};
}

std::optional<PublishedTiles> tiles_of_settings(const TileSettings& settings, const Axes<int32_t>& scale,
                                                int64_t patch, bool cuts_frames) {
  const auto rows = rule_of(settings.height, settings.stride_height, scale.y, patch);
  const auto columns = rule_of(settings.width, settings.stride_width, scale.x, patch);
  if (!rows || !columns) return std::nullopt;
  PublishedTiles tiles{.frames = {}, .rows = *rows, .columns = *columns};
  if (!cuts_frames) return tiles;
  tiles.frames = rule_of(settings.frames, settings.stride_frames, scale.t, 1);
  if (!tiles.frames) return std::nullopt;
  // A tile has one frame more, since the first that each makes stands for itself alone; of all but the first
  // tile it is dropped.
  ++tiles.frames->extent;
  tiles.frames->drops_first = true;
  return tiles;
}

}  // namespace headroom
