#include "planner/explain/schedule_bands.h"

#include <algorithm>
#include <map>

#include "decoder/schedule/transfers.h"

namespace headroom::planner {
namespace {

std::vector<BlockMove> moves_in(const PassSweep& sweep, size_t band, size_t bands) {
  using Kind = BlockMove::Kind;
  std::vector<BlockMove> moves;
  const auto add = [&](Kind kind, const Window& window, const Interval& blocks) {
    if (blocks.length() > 0) moves.push_back({kind, window.use.tensor, blocks});
  };
  for (const Window& window : sweep.windows()) {
    // The blocks of the first band arrive before it runs.
    const Interval next = band + 1 < bands ? window.fetched_for(band + 1) : Interval{};
    const Interval own = band == 0 ? window.fetched_for(0) : Interval{};
    const int64_t begin = own.length() > 0 ? own.begin : next.begin;
    const int64_t end = next.length() > 0 ? next.end : own.end;
    add(Kind::fetched, window, {begin, end});
    add(Kind::stored, window, window.stored(band));
    const Interval leaving = window.given_back(band);
    add(window.use.written && window.below_device() ? Kind::written : Kind::given_back, window, leaving);
  }
  return moves;
}

BandPeak peak_of(const PassSweep& sweep, size_t band, const ExtraWorkspace& extra) {
  const auto at = [&](const SweepPoint& point) {
    const LiveBytes live = sweep.live(point);
    const int64_t steps = live.step.total() + (point.step == extra.step ? extra.bytes : 0);
    return BandPeak{point, live.total() - live.kept - live.step.total(), live.kept, steps};
  };
  const SweepPoint highest = sweep.peak_of_band(band).point;
  const BandPeak counted = at(highest), with_extra = at({band, extra.step, highest.later_tile});
  return with_extra.live() > counted.live() ? with_extra : counted;
}

bool goes_on(const Pass& pass, const BandRun& run, const BandRun& next) {
  const auto height = [&](const BandRun& of) {
    return pass.tiles.y[static_cast<size_t>(of.bands.begin)].length();
  };
  const auto alike = [&](const BlockMove& a, const BlockMove& b) {
    return a.kind == b.kind && a.tensor == b.tensor && a.blocks.end == b.blocks.begin &&
           a.blocks.length() == b.blocks.length() * run.bands.length();
  };
  return height(run) == height(next) && run.awaited.empty() && next.awaited.empty() &&
         std::equal(run.moves.begin(), run.moves.end(), next.moves.begin(), next.moves.end(), alike);
}

void add_to(BandRun& run, const BandRun& next) {
  run.bands.end = next.bands.end;
  for (size_t i = 0; i < run.moves.size(); ++i) run.moves[i].blocks.end = next.moves[i].blocks.end;
  if (next.highest.live() > run.highest.live()) run.highest = next.highest;
}

}  // namespace

std::vector<BandRun> band_runs(const Pass& pass, const PassSweep& sweep, const ExtraWorkspace& extra,
                               const std::vector<AwaitedRows>& awaited, bool merged) {
  const size_t bands = pass.tiles.y.size();
  std::vector<BandRun> runs;
  for (size_t band = 0; band < bands; ++band) {
    const auto number = static_cast<int64_t>(band);
    BandRun run{{number, number + 1}, moves_in(sweep, band, bands), {}, {}};
    run.highest = peak_of(sweep, band, extra);
    std::copy_if(awaited.begin(), awaited.end(), std::back_inserter(run.awaited),
                 [&](const AwaitedRows& rows) { return rows.band == band; });
    if (merged && !runs.empty() && goes_on(pass, runs.back(), run)) {
      add_to(runs.back(), run);
    } else {
      runs.push_back(std::move(run));
    }
  }
  return runs;
}

std::vector<std::vector<AwaitedRows>> awaited_rows(const Graph& graph, const Plan& plan,
                                                   const std::vector<RowTransfer>& transfers) {
  std::map<std::pair<int32_t, int32_t>, std::vector<const RowTransfer*>> messages;
  for (const RowTransfer& transfer : transfers) {
    if (transfer.to == plan.share.rank) messages[{transfer.pass, transfer.from}].push_back(&transfer);
  }
  std::vector<std::vector<AwaitedRows>> awaited(plan.passes.size());
  for (const auto& [key, message] : messages) {
    for (size_t pass = static_cast<size_t>(key.first) + 1; pass < plan.passes.size(); ++pass) {
      const size_t band = first_band_of(graph, plan, pass, message);
      if (band == plan.passes[pass].tiles.y.size()) continue;
      for (const RowTransfer* transfer : message) awaited[pass].push_back({band, *transfer});
      break;
    }
  }
  return awaited;
}

}  // namespace headroom::planner
