#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/geometry.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/sizes.h"

namespace headroom::test {

/// Shape of what the request makes: a picture or clip, or the moments of a latent.
inline PictureShape picture_shape(const Model& model, const Request& request) {
  const Tensor& output = model.graph.tensor(model.graph.output());
  const Extent extent = extent_of(output, latent_of(model.graph, request));
  return {request.batch, output.channels, extent.t, extent.y, extent.x};
}

/// Keeps a picture (N×C×H×W) or clip (N×C×T×H×W) in memory, and counts the writes to each position.
class MemorySink final : public PictureSink {
 public:
  explicit MemorySink(const PictureShape& shape) : PictureSink(shape) {
    picture.shape = {shape.items, shape.channels, shape.rows, shape.columns};
    if (shape.frames > 1) picture.shape.insert(picture.shape.begin() + 2, shape.frames);
    picture.values.assign(
        static_cast<size_t>(shape.items * shape.channels * shape.frames * shape.rows * shape.columns),
        std::nanf(""));
  }

  Array picture;
  bool complete_called = false;
  int64_t overwritten = 0;

 private:
  void put(int64_t item, const Region& region, const float* pixels) override {
    const PictureShape& s = shape();
    for (int64_t t = region.t.begin; t < region.t.end; ++t) {
      for (int64_t y = region.y.begin; y < region.y.end; ++y) {
        for (int64_t x = region.x.begin; x < region.x.end; ++x) {
          for (int64_t c = 0; c < s.channels; ++c) {
            const int64_t plane = (item * s.channels + c) * s.frames + t;
            float& value = picture.values[static_cast<size_t>((plane * s.rows + y) * s.columns + x)];
            if (!std::isnan(value)) ++overwritten;
            value = *pixels++;
          }
        }
      }
    }
  }
  void complete() override { complete_called = true; }
};

/// Tolerance for rounding errors, relative to the largest magnitude.
constexpr double kExact = 1e-5;

/// Largest difference divided by the reference's largest magnitude. Infinite if shapes differ or a value is
/// NaN.
inline double relative_error(const Array& found, const Array& reference) {
  if (found.shape != reference.shape) return HUGE_VAL;
  double largest = 0, magnitude = 0;
  for (size_t i = 0; i < reference.values.size(); ++i) {
    const double difference = std::abs(double(found.values[i]) - double(reference.values[i]));
    if (std::isnan(difference)) return HUGE_VAL;
    largest = std::max(largest, difference);
    magnitude = std::max(magnitude, std::abs(double(reference.values[i])));
  }
  return largest == 0 ? 0 : largest / magnitude;
}

}  // namespace headroom::test
