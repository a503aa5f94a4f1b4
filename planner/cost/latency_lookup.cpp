#include "planner/cost/latency_lookup.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "decoder/graph/geometry.h"
#include "decoder/operations/attention.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/lowering.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/tiles.h"

namespace headroom::planner {
namespace {

/// Tiles of equal length along one axis.
struct Run {
  int64_t length = 0;
  double count = 0;
};

/// First tile, middle tiles, last tile. They differ because the picture's edges clip the halos of the outer
/// two.
struct Runs {
  std::vector<Run> runs;
  void add(int64_t length, double count) {
    if (!runs.empty() && runs.back().length == length) {
      runs.back().count += count;
    } else {
      runs.push_back({length, count});
    }
  }
};

/// Cuts the part of the grid that is decoded here into tiles of `length`.
Runs runs_along(const TileAxis& axis, const Interval& grid, int64_t length) {
  const int64_t count = ceil_divide(grid.length(), length);
  const auto positions = [&](int64_t i) {
    const int64_t begin = grid.begin + i * length;
    return std::max<int64_t>(1, axis.present({begin, std::min(grid.end, begin + length)}).length());
  };
  Runs runs;
  runs.add(positions(0), 1);
  if (count > 2) runs.add(positions(1), double(count - 2));
  if (count > 1) runs.add(positions(count - 1), 1);
  return runs;
}

/// Positions computed in each tile, if tiles carry positions over to the next tile.
Runs runs_of(const TileAxis& axis, const std::vector<Interval>& tiles) {
  Runs runs;
  for (const Interval& tile : tiles) {
    const int64_t made = axis.made(tile).length();
    if (made > 0) runs.add(made, 1);
  }
  return runs;
}

/// Cost of an add as a share of an accumulation. An accumulation reads two tensors and writes one. An add
/// inside a convolution only reads one.
constexpr double kResidualShare = 1.0 / 3;

}  // namespace

LatencyLookup::LatencyLookup(const Graph& graph, const profiler::Profile& profile)
    : graph_(&graph), latency_tables_(profile.latency_tables) {
  const auto find = [&](const std::string& name) {
    const auto found =
        std::find_if(latency_tables_.begin(), latency_tables_.end(),
                     [&](const profiler::LatencyTable& latency_table) { return latency_table.name == name; });
    return found == latency_tables_.end() ? -1 : static_cast<int32_t>(found - latency_tables_.begin());
  };
  const auto needed = [&](const std::string& name) {
    const int32_t found = find(name);
    if (found < 0) missing_ = name;
    return found;
  };
  for (const Op& op : graph.ops()) {
    for (ConvolutionAlgorithm algorithm : device_record(profile.device_kind).algorithms)
      of_op_[static_cast<size_t>(algorithm)].push_back(
          needed(profiler::latency_table_name(graph, op, algorithm)));
    const bool adds = op.kind == OpKind::add;
    accumulate_.push_back(
        adds ? needed(profiler::moving_latency_table_name("accumulate", graph.tensor(op.output).channels))
             : -1);
  }
  for (size_t t = 0; t < graph.tensors().size(); ++t) {
    const Tensor& tensor = graph.tensors()[t];
    const bool moves = !tensor.statistics;
    const bool is_output = TensorId{static_cast<int32_t>(t)} == graph.output();
    gather_.push_back(moves ? needed(profiler::moving_latency_table_name("gather", tensor.channels)) : -1);
    store_.push_back(moves && t > 0 ? needed(profiler::moving_latency_table_name("store", tensor.channels))
                                    : -1);
    emit_.push_back(is_output ? needed(profiler::moving_latency_table_name("emit", tensor.channels)) : -1);
  }
}

const profiler::LatencyTable& LatencyLookup::of(const Step& step, ConvolutionAlgorithm algorithm) const {
  int32_t found = -1;
  switch (step.kind) {
    case OpKind::gather:
      found = gather_[index(step.tensor)];
      break;
    case OpKind::store:
      found = store_[index(step.tensor)];
      break;
    case OpKind::emit:
      found = emit_[index(step.tensor)];
      break;
    case OpKind::accumulate:
      found = accumulate_[index(step.op)];
      break;
    default:
      found = of_op_[static_cast<size_t>(algorithm)][index(step.op)];
      break;
  }
  if (found < 0) throw std::logic_error("a step without a latency table");
  return latency_tables_[static_cast<size_t>(found)];
}

double LatencyLookup::tile_seconds(const Step& step, ConvolutionAlgorithm algorithm, const Axes<double>& made,
                                   const Sizes& sizes) const {
  const profiler::LatencyTable& latency_table = of(step, algorithm);
  const profiler::CallsOfStep calls =
      profiler::calls_of(step.kind, device_record(sizes.device), made.t, double(sizes.items));
  double call = 0;
  if (step.kind == OpKind::attention) {
    call = profiler::attention_seconds(latency_table, *graph_, graph_->op(step.op), sizes.latent,
                                       made.y * made.x);
  } else {
    call = latency_table.seconds_at(made.y * calls.frames_per_call, made.x);
  }
  if (step.add == OpId{-1}) return calls.calls * call;
  Step add = step;
  add.kind = OpKind::accumulate;
  add.op = std::exchange(add.add, OpId{-1});
  return calls.calls * call + kResidualShare * tile_seconds(add, algorithm, made, sizes);
}

double LatencyLookup::step_seconds(const Pass& pass, const Step& step, const Extent& tile,
                                   const Sizes& sizes) const {
  const Axes<TileAxis> axes = tile_axes(*graph_, pass, step, measured_tensor(step), sizes.latent);
  const Runs rows = axes.y.carries ? runs_of(axes.y, cut_rows(*graph_, pass, tile.y, sizes))
                                   : runs_along(axes.y, own_rows(sizes, pass.scale.y), tile.y);
  const Runs columns = runs_along(axes.x, {0, axes.x.grid}, tile.x);
  const auto chunks = double(ceil_divide(axes.t.grid, tile.t));
  const double frames = double(axes.t.extent) / chunks;
  double seconds = 0;
  for (const Run& of_rows : rows.runs) {
    for (const Run& of_columns : columns.runs) {
      const Axes<double> made{frames, double(of_rows.length), double(of_columns.length)};
      seconds += of_rows.count * of_columns.count * chunks *
                 tile_seconds(step, pass.convolutions.of(step.op), made, sizes);
    }
  }
  return seconds;
}

std::optional<LatencyLookup::Beyond> LatencyLookup::beyond(const Pass& pass, const Extent& tile,
                                                           const Sizes& sizes) const {
  for (size_t s = 0; s < pass.steps.size(); ++s) {
    const Step& step = pass.steps[s];
    if (step.op == OpId{-1} || step.kind == OpKind::accumulate) continue;
    const Op& op = graph_->op(step.op);
    Step sized = step;
    sized.tensor = measured_tensor(step);
    const Extent largest = largest_tile(*graph_, pass, sized, tile, sizes);
    const profiler::CallsOfStep calls =
        profiler::calls_of(step.kind, device_record(sizes.device), double(largest.t), double(sizes.items));
    double most = double(largest.y * largest.x) * calls.frames_per_call;
    if (op.kind == OpKind::attention)
      most *= double(profiler::latency_table_extent(*graph_, op, sizes.latent).x);
    if (!of(step, pass.convolutions.of(step.op)).covers(most)) return Beyond{s, most};
  }
  return std::nullopt;
}

double LatencyLookup::copied_bytes_per_second(Dtype dtype) const {
  double most = 0;
  for (size_t t = 0; t < store_.size(); ++t) {
    if (store_[t] < 0) continue;
    const auto& table = latency_tables_[static_cast<size_t>(store_[t])];
    const int64_t bytes = 2 * graph_->tensors()[t].channels * bytes_per_element(dtype);
    most = std::max(most, double(bytes * table.most_positions()) / table.seconds.back());
  }
  return most;
}

double LatencyLookup::least_seconds(OpId id, const Sizes& sizes) const {
  const Op& op = graph_->op(id);
  Extent extent = profiler::latency_table_extent(*graph_, op, sizes.latent);
  extent.y = extent.y / sizes.latent.y * own_rows(sizes, 1).length();  // rows of all frames, or queries
  const profiler::LatencyTable& direct = of(id, ConvolutionAlgorithm::direct);
  if (op.kind == OpKind::attention) {
    double of_row = 0;
    const int64_t frames = extent_of(graph_->tensor(op.output), sizes.latent).t;
    for (int64_t frame = 0; frame < frames; ++frame)
      of_row += direct.least_seconds_per_row(double(attended_keys(*graph_, op, sizes.latent, frame)));
    return of_row * double(extent.y * sizes.items);
  }
  double rate = direct.least_seconds_per_position();
  for (ConvolutionAlgorithm algorithm : device_record(sizes.device).algorithms)
    rate = std::min(rate, of(id, algorithm).least_seconds_per_position());
  if (accumulate_[index(id)] >= 0) {
    const auto& accumulate = latency_tables_[static_cast<size_t>(accumulate_[index(id)])];
    const double share = fusion_on(sizes).residuals ? kResidualShare : 1;
    rate = std::min(rate, share * accumulate.least_seconds_per_position());
  }
  return rate * double(positions(extent) * sizes.items);
}

}  // namespace headroom::planner
