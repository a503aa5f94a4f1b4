#include "decoder/runtime/normalisation.h"

#include <algorithm>
#include <vector>

#include "decoder/kernels/loops.h"
#include "decoder/kernels/norm.h"
#include "decoder/kernels/storage.h"
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
    const float* scale = scales.data() + item * channels;
    const float* shift = shifts.data() + item * channels;
    // What is stored in 16 bits is widened where it is to be, a piece that stays in the first-level cache at
    // a time.
    constexpr int64_t kPiece = 4096;
    const bool as_it_is = source.dtype == Dtype::fp32;
    const int64_t piece = as_it_is ? part.x.length() : std::max<int64_t>(1, kPiece / channels);
    for (int64_t x = part.x.begin; x < part.x.end; x += piece) {
      const int64_t pixels = std::min(piece, part.x.end - x);
      float* to = row + (x - view.region.x.begin) * channels;
      if (!as_it_is) kernels::widen(source.dtype, source.place(item, y, x), to, pixels * channels);
      kernels::norm_activate(as_it_is ? source.at(item, y, x) : to, to, pixels, channels, scale, shift,
                             activation);
    }
    std::fill_n(row + (columns - right) * channels, right * channels, 0.0f);
  });
}

void normalise_pixels(const MapView& source, const Tile& target, Activation activation, double epsilon,
                      const OpWeights& weights, const Region& region, int64_t items) {
  const int64_t channels = source.channels, values = region.x.length() * channels;
  const MapView view = target.view();
  for_rows(items, region.y, values, [&](int64_t item, int64_t y) {
    float* to = view.at(item, y, region.x.begin);
    const float* from = to;
    if (source.dtype == Dtype::fp32) {
      from = source.at(item, y, region.x.begin);
    } else {
      kernels::widen(source.dtype, source.place(item, y, region.x.begin), to, values);
    }
    kernels::loops().pixel_norm(from, to, region.x.length(), channels, weights.scale, weights.bias,
                                static_cast<float>(epsilon));
    kernels::activate(to, values, activation);
  });
}

}  // namespace headroom
