#include "planner/cost/tile_chain.h"

#include <algorithm>
#include <map>

#include "decoder/graph/geometry.h"
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

void TileChain::find_missed(const std::vector<double>& positions) {
  std::fill(places_.begin(), places_.end(), Place{});
  double moved = 0;
  for (size_t i = 0; i < links_.size(); ++i) {
    const Link& link = links_[i];
    const double begin = moved;
    moved += positions[i] * (link.moved + 2 * (rewrites_[i] - link.rewrites) * link.written);
    missed_reads_[i] = 0;
    for (const Read& read : link.reads) {
      Place& place = places_[read.place];
      if (place.touched && std::max(begin - place.begin, moved - place.end) <= card_.l2_share_bytes) continue;
      missed_reads_[i] += positions[i] * read.bytes;
      place.missed = true;
    }
    const auto touch = [&](size_t number) {
      Place& place = places_[number];
      place.begin = begin;
      place.end = moved;
      place.touched = true;
    };
    for (const Read& read : link.reads) touch(read.place);
    if (link.written > 0) touch(link.place);
  }
}

double TileChain::missed_write(size_t i, double positions) const {
  const Link& link = links_[i];
  return link.keeps || places_[link.place].missed ? positions * link.written : 0;
}

/// The extra copy for rows with gaps between them costs as much as a store step.
double TileChain::measured_seconds(size_t i, const Axes<double>& made) const {
  const Step& step = pass_.steps[i];
  double seconds = measured_->tile_seconds(step, pass_.convolutions.of(step.op), made, sizes_);
  if (rewrites_[i] > links_[i].rewrites) {
    const Step store{.kind = OpKind::store, .tensor = step.tensor};
    seconds += measured_->tile_seconds(store, ConvolutionAlgorithm::direct, made, sizes_);
  }
  const double missed = missed_reads_[i] + missed_write(i, positions_[i]);
  return std::max(seconds, missed / card_.dram_bytes_per_second);
}

double TileChain::assumed_seconds(size_t i, const CallExtent& call) const {
  const Link& link = links_[i];
  const double items = double(sizes_.items), positions = double(call.positions()) * items;
  const double written = positions * link.written, missed_write = this->missed_write(i, positions);
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
  find_missed(positions_);
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

}  // namespace headroom::planner
