#include "planner/cost/gpu_costs.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/storage.h"

namespace headroom::planner {

namespace {

/// Bytes moved to carry one position of one item to the next chunk or band. The position is copied out and
/// copied in, and each copy reads and writes it.
double bytes_to_carry(const Graph& graph, const Step& step, const Sizes& sizes) {
  if (!makes_tile(step)) return 0;
  constexpr int64_t kReadAndWritten = 2, kOutAndIn = 2;
  return double(kReadAndWritten * kOutAndIn * graph.tensor(step.tensor).channels * tile_element_bytes(sizes));
}

/// True if narrow rows need an extra copy. An upsampling convolution needs none, because it interleaves its
/// phases directly into the target.
bool copies_if_narrow(const Graph& graph, const Step& step) {
  if (step.add != OpId{-1}) return true;
  return step.target != StepTarget::tile && graph.op(step.op).factor.y == 1;
}

}  // namespace

TileChain::TileChain(const Graph& graph, const Pass& pass, const GpuTimes& times, const Sizes& sizes)
    : card_(times.card), measured_(times.measured.get()), pass_(pass), sizes_(sizes) {
  const size_t steps = pass.steps.size();
  std::map<TensorId, size_t> kept;
  const auto place_of = [&](const Operand& operand) {
    if (operand.step >= 0) return static_cast<size_t>(operand.step);
    return kept.try_emplace(operand.tensor, steps + kept.size()).first->second;
  };
  for (size_t i = 0; i < steps; ++i) {
    const Step& step = pass.steps[i];
    const StepTraffic bytes = traffic_of(graph, step, sizes);
    const Axes<TileAxis> axes = tile_axes(graph, pass, step, measured_tensor(step), sizes.latent);
    Link link{.work = StepWork(card_, graph, step, sizes),
              .written = bytes.written,
              .emitted = bytes.emitted,
              .moved = bytes.moved(),
              .moved_if_narrow = bytes.moved() + 2 * bytes.written,
              .keeps = bytes.keeps,
              .rewrites = bytes.rewrites,
              .copies_if_narrow = copies_if_narrow(graph, step),
              .columns = axes.x.extent,
              .frame_calls = frame_calls(graph, step, sizes),
              .place = bytes.keeps ? place_of({step.tensor, -1}) : i,
              .carried_of_area = double(axes.t.carried) * bytes_to_carry(graph, step, sizes),
              .carried_of_column = double(axes.y.carried) * bytes_to_carry(graph, step, sizes)};
    for (const StepTraffic::Read& read : bytes.reads)
      link.reads.push_back({place_of(read.operand), read.bytes});
    link.kernels = kernels_of(graph, step, 0, sizes);
    link.call_kernels = kernels_of(graph, step, 1, sizes) - link.kernels;
    links_.push_back(std::move(link));
  }
  places_.resize(steps + kept.size());
  positions_.resize(steps);
  rewrites_.resize(steps);
  missed_reads_.resize(steps);
  step_seconds_.resize(steps);
}

void TileChain::find_missed() {
  std::fill(places_.begin(), places_.end(), Place{});
  const double share = card_.l2_share_bytes;
  double moved = 0;
  for (size_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    const double begin = moved;
    moved += positions_[i] * (rewrites_[i] > link.rewrites ? link.moved_if_narrow : link.moved);
    double missed = 0;
    for (const Read& read : link.reads) {
      Place& place = places_[read.place];
      if (begin - place.begin <= share && moved - place.end <= share) continue;
      missed += positions_[i] * read.bytes;
      place.missed = true;
    }
    missed_reads_[i] = missed;
    for (const Read& read : link.reads) places_[read.place].touch(begin, moved);
    if (link.written > 0) places_[link.place].touch(begin, moved);
  }
}

double TileChain::missed_write(size_t i) const {
  const Link& link = links_[i];
  return link.keeps || places_[link.place].missed ? positions_[i] * link.written : 0;
}

/// The extra copy for rows with gaps between them costs as much as a store step.
double TileChain::measured_seconds(size_t i, const Axes<double>& made) const {
  const Step& step = pass_.steps[i];
  double seconds = measured_->tile_seconds(step, pass_.convolutions.of(step.op), made, sizes_);
  if (rewrites_[i] > links_[i].rewrites) {
    const Step store{.kind = OpKind::store, .tensor = step.tensor};
    seconds += measured_->tile_seconds(store, ConvolutionAlgorithm::direct, made, sizes_);
  }
  const double missed = missed_reads_[i] + missed_write(i);
  return std::max(seconds, missed / card_.dram_bytes_per_second);
}

double TileChain::assumed_seconds(size_t i, const CallExtent& call) const {
  const Link& link = links_[i];
  const double items = double(sizes_.items), positions = positions_[i];
  const double written = positions * link.written, missed_write = this->missed_write(i);
  const auto moving = [&](double all, double missed) {
    return std::max(all / card_.l2_bytes_per_second, missed / card_.dram_bytes_per_second);
  };
  double seconds =
      std::max(link.work.seconds(call) * items, positions * link.emitted / card_.emitted_bytes_per_second);
  const double first = positions * (link.moved - 2 * link.rewrites * link.written);
  const int32_t rewrites = rewrites_[i];
  if (rewrites == 0) return std::max(seconds, moving(first, missed_reads_[i] + missed_write));
  // Each rewriting kernel reads the output of the kernel before it. These kernels run item by item, and call
  // by call.
  const double at_once = items * double(link.frame_calls.calls(call));
  const bool stays = std::max(first, 2 * written) / at_once <= card_.l2_share_bytes;
  const double between = stays ? 0 : written;
  seconds = std::max(seconds, moving(first, missed_reads_[i] + between));
  for (int32_t k = 1; k <= rewrites; ++k)
    seconds += moving(2 * written, between + (k < rewrites ? between : missed_write));
  return seconds;
}

TileChain::Cost TileChain::cost(const TileClass& chunk, const TileClass& rows, const TileClass& columns) {
  for (size_t i = 0; i < links_.size(); ++i) {
    const bool narrow = links_[i].copies_if_narrow && columns.made[i] < links_[i].columns;
    rewrites_[i] = links_[i].rewrites + (narrow ? 1 : 0);
    positions_[i] = double(sizes_.items * chunk.made[i] * rows.made[i] * columns.made[i]);
  }
  find_missed();
  Cost cost;
  for (size_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    const CallExtent call{chunk.made[i], rows.made[i] * columns.made[i]};
    if (measured_ != nullptr) {
      step_seconds_[i] =
          measured_seconds(i, {double(chunk.made[i]), double(rows.made[i]), double(columns.made[i])});
    } else {
      const int64_t copies = sizes_.items * (rewrites_[i] - link.rewrites);
      const int64_t kernels = link.kernels + link.frame_calls.calls(call) * link.call_kernels + copies;
      step_seconds_[i] = double(kernels) * card_.kernel_seconds + assumed_seconds(i, call);
      cost.kernels += kernels;
    }
    if (chunk.has_before)
      step_seconds_[i] +=
          double(call.area * sizes_.items) * link.carried_of_area / card_.dram_bytes_per_second;
    if (rows.has_before) {
      const auto positions = double(call.frames * columns.made[i] * sizes_.items);
      step_seconds_[i] += positions * link.carried_of_column / card_.dram_bytes_per_second;
    }
    cost.seconds += step_seconds_[i];
  }
  return cost;
}

double least_step_seconds(const Graph& graph, const Step& step, const GpuCard& card, const Sizes& sizes) {
  const Extent extent = own_extent(graph.tensor(measured_tensor(step)), sizes);
  const StepTraffic bytes = traffic_of(graph, step, sizes);
  const double items = double(sizes.items), positions = double(headroom::positions(extent)) * items;
  const double rewritten = 2 * bytes.rewrites * bytes.written;
  const double arithmetic =
      StepWork(card, graph, step, sizes).least_seconds(headroom::positions(extent)) * items;
  const double moving = positions * std::max((bytes.moved() - rewritten) / card.l2_bytes_per_second,
                                             (bytes.keeps ? bytes.written : 0) / card.dram_bytes_per_second);
  const int64_t calls = frame_calls(graph, step, sizes).least_calls({extent.t, extent.y * extent.x});
  return double(kernels_of(graph, step, calls, sizes)) * card.kernel_seconds + std::max(arithmetic, moving) +
         positions * rewritten / card.l2_bytes_per_second;
}

namespace {

/// Calls `at(cost of a tile, number of such tiles)` for each kind of tile in a pass.
template <typename At>
void for_each_kind(TileChain& chain, const TileClasses& chunks, const TileClasses& rows,
                   const TileClasses& columns, const At& at) {
  for (const TileClass& chunk : chunks.classes) {
    for (const TileClass& row : rows.classes) {
      for (const TileClass& column : columns.classes)
        at(chain.cost(chunk, row, column), chunk.count * row.count * column.count);
    }
  }
}

}  // namespace

GpuCosts::GpuCosts(const Graph& graph, std::shared_ptr<const LatencyLookup> measured, Dtype dtype)
    : graph_(&graph), times_{{}, std::move(measured)} {
  times_.card.dram_bytes_per_second = times_.measured->copied_bytes_per_second(dtype);
  // Measured times include the gaps between kernels and between passes.
  times_.card.launch_seconds = times_.card.kernel_seconds = times_.card.pass_seconds = 0;
}

Axes<std::vector<TileAxis>> GpuCosts::axes_of(const Pass& pass, const Sizes& sizes) const {
  const auto along = [&](Axis axis) { return measured_axes(*graph_, pass, axis, sizes.latent); };
  return {along(Axis::t), along(Axis::y), along(Axis::x)};
}

std::vector<double> GpuCosts::shape_seconds(const Pass& pass, int64_t frames,
                                            const std::vector<int64_t>& heights,
                                            const std::vector<int64_t>& widths, const Sizes& sizes,
                                            const std::vector<bool>& wanted) const {
  TileChain chain(*graph_, pass, times_, sizes);
  const Extent grid = extent_at(pass.scale, sizes.latent);
  const Axes<std::vector<TileAxis>> axes = axes_of(pass, sizes);
  const TileClasses chunks = tile_classes(axes.t, cut(grid.t, frames));
  std::vector<TileClasses> columns;
  columns.reserve(widths.size());
  for (int64_t width : widths) columns.push_back(tile_classes(axes.x, cut(grid.x, width)));
  std::vector<double> seconds;
  for (int64_t height : heights) {
    const TileClasses rows = tile_classes(axes.y, cut_rows(*graph_, pass, height, sizes));
    for (const TileClasses& across : columns) {
      if (!wanted.empty() && !wanted[seconds.size()]) {
        seconds.push_back(std::numeric_limits<double>::infinity());
        continue;
      }
      double on_card = 0, launched = 0;
      for_each_kind(chain, chunks, rows, across, [&](const TileChain::Cost& tile, int64_t tiles) {
        on_card += tile.seconds * double(tiles);
        launched += double(tile.kernels * tiles) * times_.card.launch_seconds;
      });
      // A pass without steps does not run.
      seconds.push_back(pass.steps.empty() ? 0 : std::max(on_card, launched) + times_.card.pass_seconds);
    }
  }
  return seconds;
}

double GpuCosts::pass_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const {
  return shape_seconds(pass, tile.t, {tile.y}, {tile.x}, sizes, {}).front();
}

std::vector<double> GpuCosts::step_seconds(const Pass& pass, const Extent& tile, const Sizes& sizes) const {
  TileChain chain(*graph_, pass, times_, sizes);
  std::vector<double> seconds(pass.steps.size(), 0);
  const Axes<std::vector<Interval>> tiles = cut_grid(*graph_, pass, tile, sizes);
  const Axes<std::vector<TileAxis>> axes = axes_of(pass, sizes);
  const TileClasses chunks = tile_classes(axes.t, tiles.t), rows = tile_classes(axes.y, tiles.y),
                    columns = tile_classes(axes.x, tiles.x);
  for_each_kind(chain, chunks, rows, columns, [&](const TileChain::Cost&, int64_t alike) {
    for (size_t i = 0; i < seconds.size(); ++i) seconds[i] += chain.step_seconds()[i] * double(alike);
  });
  return seconds;
}

double GpuCosts::least_seconds(OpId id, const Sizes& sizes) const {
  const Op& op = graph_->op(id);
  // A convolution may hide the add of a residual behind its multiply-adds.
  if (op.kind == OpKind::add && fusion_on(sizes).residuals) return 0;
  Step step{.kind = op.kind, .op = id, .tensor = op.output};
  for (TensorId input : op.inputs) step.inputs.push_back({input, -1});
  return least_step_seconds(*graph_, step, times_.card, sizes);
}

double GpuCosts::least_store_seconds(TensorId id, const Sizes& sizes) const {
  return least_step_seconds(*graph_, {.kind = OpKind::store, .tensor = id, .inputs = {{id, -1}}}, times_.card,
                            sizes);
}

double GpuCosts::copies_seconds(std::span<const int64_t> copied_bytes) const {
  double seconds = 0;
  for (const int64_t bytes : copied_bytes) {
    const double copying = 2 * double(bytes) / times_.card.dram_bytes_per_second;
    seconds += std::max(times_.card.kernel_seconds + copying, times_.card.launch_seconds);
  }
  return seconds;
}

}  // namespace headroom::planner
