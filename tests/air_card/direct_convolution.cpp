#include "tests/air_card/direct_convolution.h"

#include <algorithm>

#include "tests/air_card/card.h"

namespace headroom::air {
namespace {

constexpr int64_t kLanes = 16;  ///< outputs accumulated together
constexpr int64_t kPixels = 6;  ///< neighbouring pixels of a row accumulated together
/// Number of products from which a second thread pays off.
constexpr int64_t kWorthAThread = int64_t{1} << 22;

using Vector = float __attribute__((vector_size(32)));
struct Sums {
  Vector lanes[2];
};

int64_t offset(const Tensor& tensor, int64_t n, int64_t channel, int64_t t, int64_t y, int64_t x) {
  return n * tensor.strides[0] + channel * tensor.strides[1] + t * tensor.strides[2] + y * tensor.strides[3] +
         x * tensor.strides[4];
}

/// Value of an added tensor at a position of y. Axes of extent 1 broadcast.
float added_value(const Tensor& tensor, const std::array<int64_t, 5>& position) {
  int64_t at = 0;
  for (size_t axis = 0; axis < 5; ++axis)
    at += tensor.extents[axis] == 1 ? 0 : position[axis] * tensor.strides[axis];
  return load_value(tensor.data, tensor.type, at);
}

void round_to_tf32(std::vector<float>& values) {
  std::transform(values.begin(), values.end(), values.begin(), rounded_to_tf32);
}

/// Input in fp32, channels last.
std::vector<float> dense_input(const Tensor& x) {
  std::vector<float> all;
  const auto [batch, channels, frames, rows, columns] = x.extents;
  all.reserve(static_cast<size_t>(batch * channels * frames * rows * columns));
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t t = 0; t < frames; ++t)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          for (int64_t channel = 0; channel < channels; ++channel)
            all.push_back(load_value(x.data, x.type, offset(x, n, channel, t, row, column)));
  return all;
}

/// Kernel as [outputs / kLanes][taps][inputs][kLanes]. The last group of outputs is padded with zeros.
std::vector<float> packed_kernel(const Tensor& w) {
  std::vector<float> all;
  const auto [outputs, inputs, frames, rows, columns] = w.extents;
  for (int64_t begin = 0; begin < outputs; begin += kLanes)
    for (int64_t t = 0; t < frames; ++t)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column)
          for (int64_t input = 0; input < inputs; ++input)
            for (int64_t output = begin; output < begin + kLanes; ++output)
              all.push_back(output < outputs
                                ? load_value(w.data, w.type, offset(w, output, input, t, row, column))
                                : 0);
  return all;
}

class Runner {
 public:
  explicit Runner(const DirectConvolution& convolution)
      : c_(convolution), input_(dense_input(convolution.x)), kernel_(packed_kernel(convolution.w)) {
    if (!convolution.tf32) return;
    round_to_tf32(input_);
    round_to_tf32(kernel_);
  }

  int64_t rows() const { return c_.y.extents[0] * c_.y.extents[2] * c_.y.extents[3]; }

  void run_rows(int64_t begin, int64_t end) const {
    const auto [batch, outputs, frames, rows, columns] = c_.y.extents;
    for (int64_t row = begin; row < end; ++row) {
      const int64_t n = row / (frames * rows), t = row / rows % frames, y = row % rows;
      for (int64_t x = 0; x < columns; x += kPixels)
        for (int64_t output = 0; output < outputs; output += kLanes)
          run_block({n, output, t, y, x}, std::min(kPixels, columns - x), std::min(kLanes, outputs - output));
    }
  }

 private:
  using Position = std::array<int64_t, 5>;

  /// Computes some pixels of one row for one group of outputs.
  void run_block(const Position& at, int64_t pixels, int64_t outputs) const {
    const auto [all_outputs, inputs, frames, rows, columns] = c_.w.extents;
    Sums sums[kPixels] = {};
    const float* weights = kernel_.data() + at[1] / kLanes * frames * rows * columns * inputs * kLanes;
    for (int64_t t = 0; t < frames; ++t)
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t column = 0; column < columns; ++column, weights += inputs * kLanes) {
          const float* from[kPixels];
          for (int64_t p = 0; p < kPixels; ++p)  // missing pixels repeat the last one
            from[p] = input(at[0], at[2] + t, at[3] + row, at[4] + column + std::min(p, pixels - 1));
          add_products(from, weights, inputs, sums);
        }
    for (int64_t p = 0; p < pixels; ++p) store(sums[p], {at[0], at[1], at[2], at[3], at[4] + p}, outputs);
  }

  static void add_products(const float* const (&from)[kPixels], const float* weights, int64_t inputs,
                           Sums (&sums)[kPixels]) {
    for (int64_t input = 0; input < inputs; ++input) {
      Sums w;
      std::memcpy(&w, weights + input * kLanes, sizeof w);
      for (int64_t p = 0; p < kPixels; ++p) {
        sums[p].lanes[0] += from[p][input] * w.lanes[0];
        sums[p].lanes[1] += from[p][input] * w.lanes[1];
      }
    }
  }

  void store(const Sums& sums, Position at, int64_t outputs) const {
    float values[kLanes];
    std::memcpy(values, &sums, sizeof values);
    for (int64_t i = 0; i < outputs; ++i, ++at[1]) {
      float value = values[i];
      for (const Tensor& tensor : c_.added) value += added_value(tensor, at);
      store_value(c_.y.data, c_.y.type, offset(c_.y, at[0], at[1], at[2], at[3], at[4]), value);
    }
  }

  const float* input(int64_t n, int64_t t, int64_t y, int64_t x) const {
    const auto [batch, channels, frames, rows, columns] = c_.x.extents;
    return input_.data() + (((n * frames + t) * rows + y) * columns + x) * channels;
  }

  const DirectConvolution& c_;
  std::vector<float> input_, kernel_;
};

}  // namespace

void run(const DirectConvolution& convolution) {
  const Runner runner(convolution);
  int64_t products = 1;
  for (const int64_t extent : convolution.y.extents) products *= extent;
  for (size_t axis = 1; axis < 5; ++axis) products *= convolution.w.extents[axis];
  if (products < kWorthAThread) return runner.run_rows(0, runner.rows());
  in_two_halves(runner.rows(), [&](int64_t begin, int64_t end) { runner.run_rows(begin, end); });
}

}  // namespace headroom::air
