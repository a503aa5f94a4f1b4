#include "decoder/runtime/map_view.h"

#include <cstring>

#include "decoder/runtime/rows.h"

namespace headroom {
namespace {

void zero(float* pixels, int64_t count, int64_t channels) {
  if (count > 0) std::memset(pixels, 0, static_cast<size_t>(count * channels) * sizeof(float));
}

void copy(const float* from, float* to, int64_t count) {
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
}

}  // namespace

Region inside(const Region& region, const Extent& picture) {
  return per_axis(
      [](const Interval& a, int64_t length) {
        return intersect(a, {0, length});
      },
      region, picture);
}

void gather(const MapView& source, const MapView& target, const Extent& picture, int64_t items) {
  const Region part = inside(target.region, picture);
  const int64_t columns = target.region.x.length();
  for_rows(items, target.region.y, columns * target.channels, [&](int64_t item, int64_t y) {
    float* row = target.at(item, y, target.region.x.begin);
    if (y < part.y.begin || y >= part.y.end) return zero(row, columns, target.channels);
    zero(row, part.x.begin - target.region.x.begin, target.channels);
    copy(source.at(item, y, part.x.begin), target.at(item, y, part.x.begin),
         part.x.length() * target.channels);
    zero(row + (part.x.end - target.region.x.begin) * target.channels, target.region.x.end - part.x.end,
         target.channels);
  });
}

void copy_region(const MapView& source, const MapView& target, const Region& region, int64_t items) {
  const int64_t values = region.x.length() * source.channels;
  for_rows(items, region.y, values, [&](int64_t item, int64_t y) {
    copy(source.at(item, y, region.x.begin), target.at(item, y, region.x.begin), values);
  });
}

void add_region(const MapView& source, const MapView& target, const Region& region, int64_t items) {
  const int64_t values = region.x.length() * source.channels;
  for_rows(items, region.y, values, [&](int64_t item, int64_t y) {
    const float* from = source.at(item, y, region.x.begin);
    float* to = target.at(item, y, region.x.begin);
    for (int64_t i = 0; i < values; ++i) to[i] += from[i];
  });
}

void upsample(const MapView& source, const MapView& target, const Axes<int32_t>& factor,
              const Extent& picture, int64_t items) {
  const Region part = inside(target.region, picture);
  const int64_t columns = target.region.x.length();
  const int64_t channels = target.channels;
  for_rows(items, target.region.y, columns * channels, [&](int64_t item, int64_t y) {
    float* row = target.at(item, y, target.region.x.begin);
    if (y < part.y.begin || y >= part.y.end) return zero(row, columns, channels);
    zero(row, part.x.begin - target.region.x.begin, channels);
    float* to = target.at(item, y, part.x.begin);
    for (int64_t x = part.x.begin; x < part.x.end; ++x, to += channels) {
      copy(source.at(item, y / factor.y, x / factor.x), to, channels);
    }
    zero(to, target.region.x.end - part.x.end, channels);
  });
}

}  // namespace headroom
