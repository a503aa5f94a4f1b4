#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/held_view.h"

namespace headroom::test {

/// Reference convolution in plain loops and double, with random weights.
class PlainConvolution {
 public:
  /// Weights are multiples of 1/16, at most 1/2. Sums of weights, as in the phases over upsampling, are then
  /// exact in every dtype.
  PlainConvolution(Random& random, const gpu::ConvolutionShape& shape, Dtype dtype)
      : shape_(shape), dtype_(dtype) {
    kernel_.resize(
        static_cast<size_t>(shape.outputs * shape.frames * shape.rows * shape.columns * group_inputs()));
    for (float& value : kernel_) value = static_cast<float>(random.integer(-8, 8)) / 16;
    bias_.resize(static_cast<size_t>(shape.outputs));
    for (float& value : bias_) value = static_cast<float>(random.integer(-8, 8)) / 16;
  }

  /// Weights and bias in the layout that calls take.
  std::vector<std::byte> kernel() const { return stored(shape_.upsamples ? phases() : kernel_); }
  std::vector<std::byte> bias() const { return stored(bias_); }

  /// Region of the input that a region of outputs reads. Later frames may be missing: zeros, or the last
  /// available frame again.
  gpu::Box needed(const gpu::Box& region) const {
    const auto read = [&](const gpu::Span& span, int32_t taps, int32_t stride) -> gpu::Span {
      const int32_t first = first_of(span.begin, taps, stride);
      const int32_t last = first_of(span.end - 1, taps, stride) + taps - 1;
      return {first >> upsampling(), (last >> upsampling()) + 1};
    };
    return {{std::max(0, region.t.begin * shape_.stride.t - frames_before()),
             (region.t.end - 1) * shape_.stride.t + 1 + shape_.frames_ahead},
            read(region.y, shape_.rows, shape_.stride.y),
            read(region.x, shape_.columns, shape_.stride.x)};
  }

  /// One output position, all channels. The input ends at `end_frame` (exclusive); `value` returns one input
  /// value.
  template <typename Value>
  std::vector<double> output(int32_t end_frame, int32_t t, int32_t y, int32_t x, const Value& value) const {
    std::vector<double> sums(bias_.begin(), bias_.end());
    each_product(end_frame, t, y, x, value,
                 [&](int32_t o, double product) { sums[static_cast<size_t>(o)] += product; });
    return sums;
  }
  std::vector<double> output(HeldView& input, int32_t t, int32_t y, int32_t x) const {
    return output(input.view.region.t.end, t, y, x,
                  [&](int32_t frame, int32_t row, int32_t column, int32_t c) {
                    return input.value(frame, row, column, c);
                  });
  }
  /// Like output(), but sums the magnitudes of the bias and the products.
  template <typename Value>
  std::vector<double> magnitudes(int32_t end_frame, int32_t t, int32_t y, int32_t x,
                                 const Value& value) const {
    std::vector<double> sums;
    for (const float bias : bias_) sums.push_back(std::abs(double(bias)));
    each_product(end_frame, t, y, x, value,
                 [&](int32_t o, double product) { sums[static_cast<size_t>(o)] += std::abs(product); });
    return sums;
  }

 private:
  /// Calls `add(output, product)` for each product in the sums of one output position.
  template <typename Value, typename Add>
  void each_product(int32_t end_frame, int32_t t, int32_t y, int32_t x, const Value& value,
                    const Add& add) const {
    const bool without_first = shape_.before_first == BeforeFirst::zeros_instead_of_first_frame;
    for (int32_t k = 0; k < shape_.frames; ++k) {
      int32_t frame = t * shape_.stride.t - frames_before() + k;
      if (shape_.before_first == BeforeFirst::first_frame) frame = std::clamp(frame, 0, end_frame - 1);
      if (frame < (without_first ? 1 : 0) || frame >= end_frame) continue;
      for (int32_t i = 0; i < shape_.rows; ++i) {
        for (int32_t j = 0; j < shape_.columns; ++j) {
          const int32_t row = (first_of(y, shape_.rows, shape_.stride.y) + i) >> upsampling();
          const int32_t column = (first_of(x, shape_.columns, shape_.stride.x) + j) >> upsampling();
          std::vector<double> values;
          for (int32_t c = 0; c < shape_.inputs; ++c) values.push_back(double(value(frame, row, column, c)));
          for (int32_t o = 0; o < shape_.outputs; ++o) {
            const int32_t first = o / (shape_.outputs / shape_.groups) * group_inputs();
            for (int32_t c = 0; c < group_inputs(); ++c)
              add(o, values[static_cast<size_t>(first + c)] * tap(o, k, i, j, c));
          }
        }
      }
    }
  }
  /// First position along an axis that an output reads, of the upsampled input.
  int32_t first_of(int32_t output, int32_t taps, int32_t stride) const {
    return output * stride - (shape_.begins_at_own ? 0 : taps / 2);
  }
  int32_t frames_before() const { return shape_.frames - 1 - shape_.frames_ahead; }
  int32_t upsampling() const { return shape_.upsamples ? 1 : 0; }
  int32_t group_inputs() const { return shape_.inputs / shape_.groups; }
  double tap(int32_t o, int32_t k, int32_t y, int32_t x, int32_t c) const {
    return kernel_[static_cast<size_t>(
        (((o * shape_.frames + k) * shape_.rows + y) * shape_.columns + x) * group_inputs() + c)];
  }

  std::vector<float> phases() const {
    std::vector<float> result;
    for (int32_t phase = 0; phase < 4; ++phase) {
      for (int32_t o = 0; o < shape_.outputs; ++o) {
        for (int32_t k = 0; k < shape_.frames; ++k) {
          for (int32_t corner = 0; corner < 4; ++corner) {
            for (int32_t c = 0; c < group_inputs(); ++c) {
              // Sums the kernel taps that read this coarse position.
              double sum = 0;
              for (int32_t i = 0; i < 3; ++i) {
                for (int32_t j = 0; j < 3; ++j) {
                  const int32_t py = phase / 2, px = phase % 2;
                  if ((py + i - 1) >> 1 == corner / 2 - 1 + py && (px + j - 1) >> 1 == corner % 2 - 1 + px)
                    sum += tap(o, k, i, j, c);
                }
              }
              result.push_back(static_cast<float>(sum));
            }
          }
        }
      }
    }
    return result;
  }

  std::vector<std::byte> stored(const std::vector<float>& values) const {
    std::vector<std::byte> result(values.size() * static_cast<size_t>(bytes_per_element(dtype_)));
    kernels::narrow(dtype_, values.data(), result.data(), static_cast<int64_t>(values.size()));
    return result;
  }

  gpu::ConvolutionShape shape_;
  Dtype dtype_;
  std::vector<float> kernel_, bias_;
};

}  // namespace headroom::test
