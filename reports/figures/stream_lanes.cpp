#include "reports/figures/stream_lanes.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace headroom::reports {
namespace {

/// Puts the blocks of one lane together.
class LaneBuilder {
 public:
  LaneBuilder(double begin, double end, size_t columns)
      : begin_(begin), width_((end - begin) / double(std::max<size_t>(columns, 1))), columns_(columns) {}

  void add(const LaneBlock& block) { blocks_.push_back(block); }
  size_t size() const { return blocks_.size(); }

  double busy_seconds() const {
    double sum = 0;
    for (const LaneBlock& block : blocks_) sum += block.busy_seconds;
    return sum;
  }

  std::vector<LaneBlock> blocks() const {
    std::vector<LaneBlock> made = blocks_.size() > columns_ ? by_columns() : blocks_;
    std::stable_sort(made.begin(), made.end(), [](const LaneBlock& a, const LaneBlock& b) {
      return a.begin_seconds < b.begin_seconds;
    });
    return made;
  }

 private:
  /// What each column has of each pass and kind, no longer than the column.
  std::vector<LaneBlock> by_columns() const {
    std::map<std::tuple<size_t, int32_t, ActivityKind>, LaneBlock> sums;
    for (const LaneBlock& block : blocks_) {
      size_t column = static_cast<size_t>(std::max(0.0, (block.begin_seconds - begin_) / width_));
      for (bool first = true; column < columns_; ++column, first = false) {
        const double from = begin_ + double(column) * width_, to = from + width_;
        if (!first && from >= block.end_seconds) break;
        LaneBlock& sum = sums.try_emplace({column, block.pass, block.kind}).first->second;
        sum.begin_seconds = from;
        sum.end_seconds = to;
        sum.pass = block.pass;
        sum.kind = block.kind;
        sum.activities += first ? 1 : 0;
        const double share = std::min(block.end_seconds, to) - std::max(block.begin_seconds, from);
        sum.busy_seconds = std::min(sum.busy_seconds + std::max(share, 0.0), width_);
      }
    }
    std::vector<LaneBlock> made;
    made.reserve(sums.size());
    for (const auto& [key, sum] : sums) made.push_back(sum);
    return made;
  }

  double begin_, width_;
  size_t columns_;
  std::vector<LaneBlock> blocks_;
};

}  // namespace

std::vector<StreamLane> stream_lanes(const RecordedTrace& recorded, double begin_seconds, double end_seconds,
                                     size_t columns) {
  const Trace& trace = recorded.trace;
  std::vector<StreamLane> lanes;
  if (trace.activities.empty() || end_seconds <= begin_seconds) return lanes;
  const auto in_sight = [&](const auto& one) {
    return one.begin_seconds < end_seconds && one.end_seconds > begin_seconds;
  };
  // Streams stay in their order whatever is in sight.
  std::map<int32_t, double> busy;
  for (const TraceActivity& one : trace.activities) busy[one.stream] += one.end_seconds - one.begin_seconds;
  std::map<int32_t, LaneBuilder> streams;
  for (const TraceActivity& one : trace.activities) {
    LaneBuilder& stream = streams.try_emplace(one.stream, begin_seconds, end_seconds, columns).first->second;
    if (in_sight(one))
      stream.add({one.begin_seconds, one.end_seconds, one.end_seconds - one.begin_seconds, one.pass, one.kind,
                  1, one.name});
  }
  std::vector<std::pair<int32_t, double>> order(busy.begin(), busy.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [stream, seconds] : order)
    lanes.push_back({"stream " + std::to_string(stream), false, streams.at(stream).blocks()});
  LaneBuilder tiles(begin_seconds, end_seconds, columns);
  for (const TraceInterval& tile : trace.tiles) {
    if (in_sight(tile))
      tiles.add({tile.begin_seconds, tile.end_seconds, tile.end_seconds - tile.begin_seconds, tile.pass,
                 ActivityKind::kernel, 1, -1});
  }
  if (!trace.tiles.empty()) lanes.push_back({"tiles", true, tiles.blocks()});
  return lanes;
}

}  // namespace headroom::reports
