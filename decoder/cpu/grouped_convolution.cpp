#include <algorithm>
#include <vector>

#include "decoder/cpu/convolution.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/loops/packing.h"
#include "decoder/cpu/rows.h"

namespace headroom {
namespace {

using kernels::Product;
using kernels::Tap;

/// Pixels whose channels stay in the second-level cache while one group after the other is multiplied.
constexpr int64_t kPixelsAtOnce = 24;

/// First position of the window that the output at column `x` of the row reads.
const float* window_of(const MapView& input, const KernelShape& shape, const Row& row, int64_t x) {
  return input.at({row.item, row.t, row.y - shape.rows / 2}, x - shape.columns / 2);
}

}  // namespace

void convolve_groups(const ConvolutionCall& call) {
  const MapView &input = call.input, &target = call.target;
  const PackedKernel& kernel = call.kernel;
  const Region& region = call.region;
  const KernelShape& shape = kernel.shape;
  const KernelShape group = shape.of_group();
  const int64_t group_floats = group.floats(ConvolutionAlgorithm::direct);
  std::vector<Tap> taps;
  for (int64_t y = 0; y < shape.rows; ++y) {
    for (int64_t x = 0; x < shape.columns; ++x) {
      taps.push_back({(y * input.region.x.length() + x) * shape.inputs,
                      (y * shape.columns + x) * group.matrix_floats()});
    }
  }
  for_rows(call.items, region, region.x.length() * shape.outputs, [&](const Row& row) {
    for (int64_t x = region.x.begin; x < region.x.end; x += kPixelsAtOnce) {
      Product product;
      product.a_row = shape.inputs;
      product.taps = taps.data();
      product.tap_count = static_cast<int64_t>(taps.size());
      product.depth = group.inputs;
      product.c_row = shape.outputs;
      product.rows = std::min(kPixelsAtOnce, region.x.end - x);
      const float* window = window_of(input, shape, row, x);
      float* out = target.at(row, x);
      for (int64_t g = 0; g < shape.groups; ++g) {
        for (int64_t first = 0; first < group.outputs; first += kernels::panel_columns()) {
          const int64_t output = g * group.outputs + first;
          product.a = window + g * group.inputs;
          product.b = kernel.values + g * group_floats + kernels::panel_offset(group, first);
          product.width = kernels::panel_width(group, first);
          product.columns = std::min(product.width, group.outputs - first);
          product.c = out + output;
          product.bias = kernel.bias + output;
          kernels::loops().multiply(product);
        }
      }
    }
  });
}

void convolve_channels(const ConvolutionCall& call) {
  const MapView &input = call.input, &target = call.target;
  const PackedKernel& kernel = call.kernel;
  const Region& region = call.region;
  const KernelShape& shape = kernel.shape;
  for_rows(call.items, region, region.x.length() * shape.outputs, [&](const Row& row) {
    std::vector<const float*> rows;
    for (int64_t i = 0; i < shape.rows; ++i)
      rows.push_back(window_of(input, shape, {row.item, row.t, row.y + i}, region.x.begin));
    kernels::loops().depthwise({.rows = rows.data(),
                                .kernel_rows = shape.rows,
                                .kernel_columns = shape.columns,
                                .channels = shape.outputs,
                                .kernel = kernel.values,
                                .kernel_channels = shape.padded_outputs(),
                                .bias = kernel.bias,
                                .out = target.at(row, region.x.begin),
                                .pixels = region.x.length()});
  });
}

}  // namespace headroom
