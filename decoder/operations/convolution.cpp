#include "decoder/operations/convolution.h"

#include <algorithm>

#include "decoder/operations/operation.h"

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
          conv.convolution.frames_ahead,
          conv.stride,
          conv.convolution.begins_at_own};
}

ConvolutionAlgorithm algorithm_of(const KernelShape& kernel, ConvolutionAlgorithm of_pass) {
  const bool known = kernel.stride == Axes<int32_t>{1, 1, 1} && kernel.rows == 3 && kernel.columns == 3 &&
                     kernel.groups == 1 && kernel.inputs >= kLeastInputs;
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

namespace operations {
namespace {

/// Taps of a convolution along one axis. Over nearest upsampling, the taps of one phase.
int32_t taps_along(int32_t kernel, int32_t factor) {
  return (kernel + factor - 1) / factor;
}

Halo reach_of(const Op& op) {
  const bool own = op.convolution.begins_at_own;
  const auto before =
      per_axis([&](int32_t k, int32_t factor) { return own ? 0 : (k / 2 + factor - 1) / factor; }, op.kernel,
               op.factor);
  // An output covers `stride` inputs. The kernel ends this many positions after them.
  const auto after =
      per_axis([](int32_t k, int32_t stride, int32_t factor,
                  int32_t first) { return factor > 1 ? first : std::max(0, k - stride - first); },
               op.kernel, op.stride, op.factor, before);
  const int32_t ahead = op.convolution.frames_ahead;
  return {{op.kernel.t - op.stride.t - ahead, before.y, before.x}, {ahead, after.y, after.x}};
}

Edges edges(const Op& op) {
  if (op.kernel.y == 1 && op.kernel.x == 1) return Edges::zeros;
  // Nearest upsampling by f turns `small` (n positions) into `large`: large(p) = small(floor(p / f)). A
  // kernel of 3 on `large` reads one position outside.
  // Replicate: large(-1) = large(0) = small(0), and large(f * n) = large(f * n - 1) = small(n - 1).
  // Replicating `small` gives these values too.
  // Reflect: large(-1) = large(1) and large(f * n) = large(f * n - 2). For f >= 2 these are also small(0) and
  // small(n - 1). So `small` is replicated, not reflected.
  if (op.factor.y > 1 && op.convolution.edges == Edges::reflect) return Edges::replicate;
  return op.convolution.edges;
}

/// Appends weight and bias of a module, unless the list has them.
void add_module(std::vector<Parameter>& list, const ModulePart& module, int64_t channels, bool over_frames) {
  if (!list.empty() && list.front().name == module.module + ".weight") return;
  Parameter weight{module.module + ".weight", {channels * module.parts, channels, 1, 1}};
  if (over_frames) weight.shape.push_back(1);
  list.push_back(std::move(weight));
  list.push_back({module.module + ".bias", {channels * module.parts}});
}

std::vector<Parameter> parameters_of_product(const Graph& graph, const Op& op) {
  const KernelProduct& product = op.convolution.product;
  std::vector<Parameter> list;
  for (const ModulePart* module : {&product.first, &product.second})
    add_module(list, *module, output_channels(graph, op), op.convolution.over_frames);
  return list;
}

std::vector<Parameter> parameters(const Graph& graph, const Op& op) {
  const ConvolutionTraits& traits = op.convolution;
  if (!traits.product.empty()) return parameters_of_product(graph, op);
  const int64_t channels = output_channels(graph, op);
  const std::vector<std::string> modules =
      traits.stacked.empty() ? std::vector<std::string>{op.name} : traits.stacked;
  const int64_t outputs = channels / traits.frames.outputs * traits.frames.made;
  const int64_t inputs = input_channels(graph, op) / op.groups / traits.frames.inputs;
  std::vector<int64_t> shape{outputs / static_cast<int64_t>(modules.size()),
                             inputs * (traits.stacks_past ? 2 : 1)};
  const int32_t frames = traits.stacks_past ? 1 : std::max(op.kernel.t, traits.stored_frames);
  if (frames > 1 || traits.over_frames) shape.push_back(frames);
  shape.insert(shape.end(), {op.kernel.y, op.kernel.x});
  std::vector<Parameter> list;
  list.reserve(2 * modules.size() + 5);
  for (const std::string& module : modules) list.push_back({module + ".weight", shape});
  if (traits.bias) {
    for (const std::string& module : modules) list.push_back({module + ".bias", {shape[0]}});
  }
  if (!traits.batch_norm.empty()) {
    for (const char* name : {".weight", ".bias", ".running_mean", ".running_var"})
      list.push_back({traits.batch_norm + name, {channels}});
  }
  if (!traits.mix_factor.empty()) list.push_back({traits.mix_factor, {1}});
  return list;
}

double flops(const Graph& graph, const Op& op, const Extent&) {
  const auto taps = per_axis(taps_along, op.kernel, op.factor);
  return 2 * (double(taps.t) * taps.y * taps.x) * double(input_channels(graph, op)) / op.groups *
         double(output_channels(graph, op));
}

/// Calls of the direct algorithm. latency_table_name() changes it for Winograd's.
std::string table_name(const Graph& graph, const Op& op) {
  const std::string groups = op.groups > 1 ? " in " + std::to_string(op.groups) : "";
  const bool strided = op.stride != Axes<int32_t>{1, 1, 1};
  const std::string stride = strided ? " by " + axes_text(op.stride) : "";
  return (op.factor.y > 1 ? "upsampled " : "") + ("conv " + axes_text(op.kernel)) + " " +
         std::to_string(input_channels(graph, op)) + "->" + std::to_string(output_channels(graph, op)) +
         groups + stride + activation_text(op);
}

}  // namespace

const Operation conv{
    .reads_exact_tile = true,
    .pads = true,
    .rounds = true,
    .can_carry_rows = true,
    .reach = reach_of,
    .edges_read = edges,
    .parameters = parameters,
    .flops_per_position = flops,
    .table_name = table_name,
};

}  // namespace operations
}  // namespace headroom
