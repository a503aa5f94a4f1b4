#include "tests/support/simulated_gpu.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/tiles.h"
#include "tests/support/simulated_rows.h"

namespace headroom::test {
namespace {

using planner::GpuCard;

/// Traffic and arithmetic of one step on one tile, for all items together.
struct Moment {
  double area = 0;                                ///< positions of one item
  std::vector<std::pair<Operand, double>> reads;  ///< bytes
  Operand written;                                ///< the tile of this step, or a kept tensor
  double written_bytes = 0;
  bool writes = false;
  double handed_on_bytes = 0;  ///< handed to the tile below and taken from the one above
  int rewrites = 0;
  double arithmetic_seconds = 0;
  double host_bytes = 0;
  double kernels = 0;

  double first_bytes() const {
    double sum = written_bytes;
    for (const auto& read : reads) sum += read.second;
    return sum;
  }
  double bytes() const { return first_bytes() + 2 * rewrites * written_bytes; }
  bool touches(const Operand& place) const {
    return (writes && written == place) ||
           std::any_of(reads.begin(), reads.end(), [&](const auto& read) { return read.first == place; });
  }
};

double rounds(double amount, double unit) {
  return std::ceil(amount / unit);
}

/// Blocks compute 128 positions and some output channels. One block runs on each multiprocessor at a time.
double convolution_seconds(const Graph& graph, const Op& op, double area, const Sizes& sizes,
                           const GpuCard& card) {
  const bool upsamples = op.factor.y == 2;
  const double inputs = double(graph.tensor(op.inputs[0]).channels);
  const double outputs = double(graph.tensor(op.output).channels);
  const double products = inputs * (upsamples ? 4 : double(op.kernel.y * op.kernel.x));
  if (sizes.dtype == Dtype::fp32)
    return 2 * products * outputs * area /
           (inputs < 16 ? card.fp32_narrow_convolution_flops_per_second
                        : card.fp32_convolution_flops_per_second);
  const double across = outputs > 64 ? 128 : outputs > 32 ? 64 : 32;
  const double share = outputs > 128 ? 1 : outputs > 64 ? 0.85 : outputs > 32 ? 0.6 : 0.35;
  const double rate =
      share * card.convolution_flops_per_second * products / (products + card.pipeline_products);
  const double calls = upsamples ? 4 : 1;
  const double blocks = rounds(rounds(area, calls), 128) * rounds(outputs, across);
  const double block_seconds = 2 * products * 128 * across * double(card.multiprocessors) / rate;
  return calls * rounds(blocks, double(card.multiprocessors)) * block_seconds;
}

double arithmetic(const Graph& graph, const Step& step, double area, const Sizes& sizes,
                  const GpuCard& card) {
  if (step.kind == OpKind::conv) return convolution_seconds(graph, graph.op(step.op), area, sizes, card);
  if (step.kind != OpKind::attention) return 0;
  const Extent keys = extent_of(graph.tensor(graph.op(step.op).inputs[1]), sizes.latent);
  const double flops = 4 * double(keys.y * keys.x * graph.tensor(step.tensor).channels) * area;
  return flops / (sizes.dtype == Dtype::fp32 ? card.fp32_attention_flops_per_second
                                             : card.attention_flops_per_second);
}

Moment moment_of(const Graph& graph, const Pass& pass, size_t number, const Region& grid, size_t band,
                 const Sizes& sizes, const GpuCard& card) {
  const Step& step = pass.steps[number];
  Step swept = step;
  if (step.kind == OpKind::statistics) swept.tensor = step.inputs[0].tensor;
  const Tensor& tensor = graph.tensor(swept.tensor);
  Extent extent = extent_of(tile_region(graph, pass, swept, grid, sizes.latent));
  if (step.kind != OpKind::statistics)
    extent.y = simulated_rows(graph, pass, swept, band, sizes).made.length();
  if (extent.t != 1) throw std::logic_error("pictures alone are simulated");
  Moment moment;
  moment.area = double(extent.y * extent.x);
  const double items = double(sizes.items), element = sizes.dtype == Dtype::fp32 ? 4 : 2;
  for (const Operand& operand : step.inputs) {
    const Tensor& source = graph.tensor(operand.tensor);
    const bool cached = source.statistics || (step.kind == OpKind::attention && !moment.reads.empty());
    if (cached) continue;
    const double of_each = double(source.scale.y * source.scale.x) / (tensor.scale.y * tensor.scale.x);
    moment.reads.push_back({operand, items * moment.area * of_each * double(source.channels) * element});
  }
  const bool stores =
      step.kind == OpKind::store || step.kind == OpKind::accumulate || step.target != StepTarget::tile;
  moment.written = stores ? Operand{step.tensor, -1} : Operand{step.tensor, static_cast<int32_t>(number)};
  moment.writes = step.kind != OpKind::statistics && step.kind != OpKind::emit;
  // A row is read and written twice: when it is saved, and when the next tile takes it.
  if (band > 0)
    moment.handed_on_bytes = 4 * items * double(rows_left(pass, step) * extent.x * tensor.channels) * element;
  if (moment.writes) moment.written_bytes = items * moment.area * double(tensor.channels) * element;
  if (step.kind == OpKind::emit) moment.host_bytes = items * moment.area * double(tensor.channels) * 4;
  moment.kernels = items;
  if (step.kind == OpKind::conv) {
    const Op& op = graph.op(step.op);
    const int activates = op.activation == Activation::none ? 0 : 1;
    moment.rewrites = activates + (op.factor.y == 2 ? 1 : 0);
    // A tile narrower than the picture is copied to the blocks. An add then needs a kernel of its own.
    const bool apart = step.add != OpId{-1} || (step.target != StepTarget::tile && op.factor.y == 1);
    const int copies = apart && extent.x < extent_of(tensor, sizes.latent).x ? 1 : 0;
    moment.rewrites += copies;
    moment.kernels = items * (copies + activates + (op.factor.y == 2 ? 5 : 1));
  }
  if (step.edges != Edges::zeros) moment.kernels += 2 * items;
  moment.arithmetic_seconds = items * arithmetic(graph, step, moment.area, sizes, card);
  return moment;
}

/// True if step `reader` finds the operand `place` in the L2 cache.
bool finds(const std::vector<Moment>& tile, size_t reader, const Operand& place, const GpuCard& card) {
  for (size_t i = reader; i-- > 0;) {
    if (!tile[i].touches(place)) continue;
    double begins = 0, ends = 0;
    for (size_t k = i; k < reader; ++k) begins += tile[k].bytes();
    for (size_t k = i + 1; k <= reader; ++k) ends += tile[k].bytes();
    return std::max(begins, ends) <= card.l2_share_bytes;
  }
  return false;
}

double seconds_of(const std::vector<Moment>& tile, size_t number, const Sizes& sizes, const GpuCard& card) {
  const Moment& moment = tile[number];
  double read = 0;
  for (const auto& [place, bytes] : moment.reads) read += finds(tile, number, place, card) ? 0 : bytes;
  bool leaves = moment.written.step == -1;
  for (size_t later = number + 1; later < tile.size(); ++later) {
    for (const auto& [place, bytes] : tile[later].reads)
      leaves = leaves || (place == moment.written && !finds(tile, later, place, card));
  }
  const auto moving = [&](double all, double missed) {
    return std::max(all / card.l2_bytes_per_second, missed / card.dram_bytes_per_second);
  };
  const double last = leaves ? moment.written_bytes : 0;
  // Kernels of a step run item by item. Only one item's values pass between two of them.
  const double at_once = std::max(moment.first_bytes(), 2 * moment.written_bytes) / double(sizes.items);
  const double between = at_once <= card.l2_share_bytes ? 0 : moment.written_bytes;
  double seconds = std::max({moment.arithmetic_seconds, moment.host_bytes / card.emitted_bytes_per_second,
                             moving(moment.first_bytes(), read + (moment.rewrites > 0 ? between : last))});
  for (int k = 0; k < moment.rewrites; ++k)
    seconds += moving(2 * moment.written_bytes, between + (k + 1 < moment.rewrites ? between : last));
  return seconds + moment.kernels * card.kernel_seconds + moment.handed_on_bytes / card.dram_bytes_per_second;
}

}  // namespace

double simulated_gpu_seconds(const Graph& graph, const Pass& pass, const Sizes& sizes, const GpuCard& card) {
  double on_card = 0, kernels = 0;
  for (const Interval& t : pass.tiles.t) {
    for (size_t band = 0; band < pass.tiles.y.size(); ++band) {
      for (const Interval& x : pass.tiles.x) {
        std::vector<Moment> tile;
        for (size_t i = 0; i < pass.steps.size(); ++i)
          tile.push_back(moment_of(graph, pass, i, {t, pass.tiles.y[band], x}, band, sizes, card));
        for (size_t i = 0; i < tile.size(); ++i) {
          on_card += seconds_of(tile, i, sizes, card);
          kernels += tile[i].kernels;
        }
      }
    }
  }
  return std::max(on_card, kernels * card.launch_seconds) + card.pass_seconds;
}

planner::CostModel assumed_costs(const Graph& graph, DeviceKind device, const GpuCard& card) {
  return device == DeviceKind::cuda ? planner::CostModel(graph, card) : planner::CostModel(graph);
}

planner::GpuCard random_card(Random& random) {
  GpuCard card;
  card.reservation = {};
  if (random.chance(0.3)) return card;
  card.multiprocessors = random.pick<int64_t>({1, 3, 132});
  card.l2_share_bytes = random.pick<double>({0, 5e3, 50e3, 500e3, 35e6});
  const double slower = random.pick<double>({1, 100, 10000});
  card.dram_bytes_per_second /= slower;
  card.l2_bytes_per_second /= slower * random.pick<double>({0.3, 1, 1.9});
  card.convolution_flops_per_second /= random.pick<double>({1, 100, 10000});
  card.launch_seconds = random.pick<double>({0, 5e-6});
  card.kernel_seconds = random.pick<double>({0, 2e-6});
  return card;
}

}  // namespace headroom::test
