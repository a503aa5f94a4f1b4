#include "decoder/runtime/normalisation.h"

#include <algorithm>
#include <vector>

#include "decoder/kernels/norm.h"
#include "decoder/runtime/rows.h"

namespace headroom {

void normalise(const MapView& source, const Tile& target, Activation activation, double epsilon,
               const OpWeights& weights, const GroupStatistics& statistics, const Extent& picture,
               int64_t items) {
  const int64_t channels = source.channels;
  std::vector<float> scales(static_cast<size_t>(items * channels)), shifts(scales.size());
  for (int64_t item = 0; item < items; ++item) {
    statistics.affine(item, channels, epsilon, weights.scale, weights.bias, scales.data() + item * channels,
                      shifts.data() + item * channels);
  }
  const MapView view = target.view();
  const Region part = inside(view.region, picture);
  const int64_t columns = view.region.x.length();
  const int64_t left = part.x.begin - view.region.x.begin;
  const int64_t right = view.region.x.end - part.x.end;
  for_rows(items, view.region.y, columns * channels, [&](int64_t item, int64_t y) {
    float* row = view.at(item, y, view.region.x.begin);
    if (y < part.y.begin || y >= part.y.end) {
      std::fill_n(row, columns * channels, 0.0f);
      return;
    }
    std::fill_n(row, left * channels, 0.0f);
    kernels::norm_activate(source.at(item, y, part.x.begin), row + left * channels, part.x.length(), channels,
                           scales.data() + item * channels, shifts.data() + item * channels, activation);
    std::fill_n(row + (columns - right) * channels, right * channels, 0.0f);
  });
}

}  // namespace headroom
