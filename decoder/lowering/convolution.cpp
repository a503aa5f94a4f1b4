#include "decoder/lowering/convolution.h"

#include <algorithm>

namespace headroom {
namespace {

constexpr int64_t kLeastInputs = 16;
constexpr int64_t kLine = 16;  // floats of a cache line

// Measured with 128 to 512 channels: fewer blocks read the kernel too often, more leave the second-level
// cache.
constexpr int64_t kFewBlocks = 24, kManyBlocks = 48;
constexpr int64_t kManyChannels = 512;  // of input and output together

int64_t round_up(int64_t value, int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

int64_t blocks_along(const Interval& outputs, const KernelShape& kernel) {
  const WinogradShape& shape = kernel.winograd();
  const int64_t inputs = kernel.upsamples ? (outputs.end + 1) / 2 - outputs.begin / 2 : outputs.length();
  return (inputs + shape.step - 1) / shape.step;
}

}  // namespace

int64_t KernelShape::frame_matrices(ConvolutionAlgorithm algorithm) const {
  if (algorithm == ConvolutionAlgorithm::direct) return direct_rows() * direct_columns();
  return winograd().products * winograd().products;
}

int64_t KernelShape::floats(ConvolutionAlgorithm algorithm) const {
  if (depthwise()) return rows * columns * padded_outputs();
  if (groups > 1) return groups * of_group().floats(algorithm);
  return matrices(algorithm) * matrix_floats();
}

KernelShape kernel_shape(const Graph& graph, const Op& conv) {
  return {graph.tensor(conv.inputs[0]).channels,
          graph.tensor(conv.output).channels,
          conv.kernel.y,
          conv.kernel.x,
          conv.factor.y > 1,
          conv.groups,
          conv.kernel.t,
          conv.convolution.before_first,
          conv.convolution.frames_ahead};
}

ConvolutionAlgorithm algorithm_of(const KernelShape& kernel, ConvolutionAlgorithm of_pass) {
  const bool known =
      kernel.rows == 3 && kernel.columns == 3 && kernel.groups == 1 && kernel.inputs >= kLeastInputs;
  return known ? of_pass : ConvolutionAlgorithm::direct;
}

bool has_winograd(const Graph& graph, OpId id) {
  if (id == OpId{-1} || graph.op(id).kind != OpKind::conv) return false;
  return algorithm_of(kernel_shape(graph, graph.op(id)), ConvolutionAlgorithm::winograd) ==
         ConvolutionAlgorithm::winograd;
}

bool runs_winograd(const Graph& graph, const ConvolutionAlgorithms& algorithms, OpId id) {
  return algorithms.of(id) == ConvolutionAlgorithm::winograd && has_winograd(graph, id);
}

WinogradWork winograd_work(const KernelShape& kernel, const Region& region, int64_t items, int64_t threads) {
  WinogradWork work;
  work.rows = blocks_along(region.y, kernel);
  work.columns = blocks_along(region.x, kernel);
  const int64_t blocks = std::max<int64_t>(1, items * region.t.length() * work.rows * work.columns);
  const int64_t most = kernel.inputs + kernel.outputs < kManyChannels ? kFewBlocks : kManyBlocks;
  work.chunk = std::min(most, (blocks + threads - 1) / threads);
  work.input_row_floats = round_up(kernel.inputs, kLine);
  work.output_row_floats = kernel.padded_outputs();
  const int64_t products = kernel.winograd().products * kernel.winograd().products;
  work.thread_floats = products * (work.input_product_floats() + work.output_product_floats());
  return work;
}

int64_t convolution_workspace_bytes(const KernelShape& kernel, ConvolutionAlgorithm algorithm,
                                    const Extent& output, int64_t items, int64_t threads) {
  if (algorithm == ConvolutionAlgorithm::direct) return 0;
  // Over upsampling, a tile that begins at an odd position touches one more input position. So this region
  // begins at 1.
  const Region region = per_axis([](int64_t length) { return Interval{1, 1 + length}; }, output);
  int64_t floats = 0;
  for (int64_t fewer = 1; fewer <= threads; ++fewer)
    floats = std::max(floats, fewer * winograd_work(kernel, region, items, fewer).thread_floats);
  return floats * int64_t{sizeof(float)};
}

}  // namespace headroom
