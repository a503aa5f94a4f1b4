#include <algorithm>
#include <map>
#include <numeric>

#include "decoder/graph/geometry.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/tiles.h"
#include "planner/cost/cost_model.h"
#include "reports/figures/timeline.h"

namespace headroom::reports {
namespace {

constexpr size_t kMostMoments = 200'000;
constexpr uint32_t kLoading = UINT32_MAX;  ///< `pass` of the moment before the first pass

/// A moment of a plan, in a pass or before the first one.
struct PlanMoment {
  uint32_t pass = 0;
  SweepPoint point{};
};

size_t tiles_of_band(const Pass& pass) {
  return pass.tiles.t.size() * pass.tiles.x.size();
}

/// False if the plan has too many moments. Each band of tiles then shows only its highest step.
bool shows_every_step(const Plan& plan) {
  size_t moments = 0;
  for (const Pass& pass : plan.passes)
    moments += pass.tiles.y.size() * pass.steps.size() * (tiles_of_band(pass) > 1 ? 2 : 1);
  return moments <= kMostMoments;
}

/// Collects consecutive moments.
struct PlanMoments {
  double now = 0;
  std::vector<double> seconds;
  std::vector<MemoryUse> use;
  std::vector<PlanMoment> moments;
  std::vector<Span> passes;

  void put(const PlanMoment& moment, const MemoryUse& bytes, double lasting) {
    seconds.push_back(now);
    use.push_back(bytes);
    moments.push_back(moment);
    now += lasting;
  }
};

/// Adds the moments of one pass.
class PassMoments {
 public:
  PassMoments(const PlanDocument& document, uint32_t number, const MemoryModel& memory, PlanMoments& moments)
      : graph_(document.model.graph),
        pass_(document.plan.passes[number]),
        number_(number),
        sizes_(sizes_of(graph_, document.plan)),
        sweep_(graph_, document.plan, number, memory),
        moments_(moments) {}

  void put(double lasting, bool every_step) {
    const double begin = moments_.now;
    double rows = 0;
    if (pass_.tiles.y.empty()) moments_.put({number_, {}}, use({}), lasting);
    for (const Interval& band : pass_.tiles.y) rows += double(band.length());
    for (size_t band = 0; band < pass_.tiles.y.size(); ++band)
      put_band(band, lasting * double(pass_.tiles.y[band].length()) / rows, every_step);
    moments_.passes.push_back({begin, moments_.now, pass_.name});
  }

 private:
  MemoryUse use(const SweepPoint& point) const {
    return use_of(sweep_.live(point), device_record(sizes_.device));
  }

  void put_band(size_t band, double lasting, bool every_step) {
    const size_t tiles = tiles_of_band(pass_);
    const std::vector<double>& shares = shares_of_band(band);
    SweepPoint point{.band = band}, highest = point;
    for (size_t tile = 0; tile < std::min<size_t>(tiles, 2); ++tile) {
      point.later_tile = tile > 0;
      const double share = tile == 0 ? 1 / double(tiles) : 1 - 1 / double(tiles);
      for (point.step = 0; point.step < pass_.steps.size(); ++point.step) {
        if (every_step) {
          moments_.put({number_, point}, use(point), lasting * share * shares[point.step]);
        } else if (sweep_.live(point).total() > sweep_.live(highest).total()) {
          highest = point;
        }
      }
    }
    if (!every_step && !pass_.steps.empty()) moments_.put({number_, highest}, use(highest), lasting);
  }

  const std::vector<double>& shares_of_band(size_t band) {
    Extent tile = longest_tile(pass_);
    tile.y = pass_.tiles.y[band].length();
    const auto [entry, is_new] = shares_.try_emplace(tile.y);
    if (is_new) entry->second = shares_of_steps(graph_, pass_, tile, sizes_);
    return entry->second;
  }

  const Graph& graph_;
  const Pass& pass_;
  const uint32_t number_;
  const Sizes sizes_;
  const PassSweep sweep_;
  PlanMoments& moments_;
  std::map<int64_t, std::vector<double>> shares_;  ///< time shares of the steps, by band height
};

/// Seconds of each pass. Plans without times share one second by FLOPs.
std::vector<double> seconds_of_passes(const PlanDocument& document) {
  const Graph& graph = document.model.graph;
  const Plan& plan = document.plan;
  std::vector<double> seconds, flops;
  for (const Pass& pass : plan.passes) seconds.push_back(pass.predicted_seconds);
  // A rank without rows has no tiles in any pass, and takes no time.
  const bool any_tiles = std::any_of(plan.passes.begin(), plan.passes.end(),
                                     [](const Pass& pass) { return !pass.tiles.y.empty(); });
  if (!any_tiles) return seconds;
  for (const Pass& pass : plan.passes) {
    flops.push_back(pass.predicted_flops > 0
                        ? pass.predicted_flops
                        : planner::pass_flops(graph, pass, cut_tile(graph, pass), sizes_of(graph, plan)));
  }
  const auto sum = [](const std::vector<double>& values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
  };
  if (sum(seconds) > 0) return seconds;
  if (sum(flops) <= 0) flops.assign(flops.size(), 1);
  const double all = sum(flops), whole = plan.predicted_seconds > 0 ? plan.predicted_seconds : 1;
  for (double& share : flops) share *= whole / all;
  return flops;
}

/// Time before the first pass, for loading resident weights.
double seconds_before(const PlanDocument& document, const std::vector<double>& seconds) {
  const double whole = document.plan.predicted_seconds;
  const double before = whole - std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return before > whole * 1e-9 ? before : 0;
}

}  // namespace

Timeline predicted_timeline(DocumentPtr document) {
  const PlanDocument& planned = std::get<PlanDocument>(document->contents);
  const Plan& plan = planned.plan;
  const auto memory =
      std::make_shared<const MemoryModel>(planner::memory_model_of_plan(planned.plan, planned.model.graph));
  const std::vector<double> pass_seconds = seconds_of_passes(planned);
  const bool every_step = shows_every_step(plan);
  const LiveBytes throughout = live_throughout(planned.model.graph, plan);
  const MemoryUse loading = use_of({.resident_weights = throughout.resident_weights,
                                    .picture = throughout.picture,
                                    .reserve = throughout.reserve},
                                   device_record(plan.request.device));
  PlanMoments sweep;
  const double before = seconds_before(planned, pass_seconds);
  if (before > 0) sweep.put({.pass = kLoading}, loading, before);
  for (uint32_t i = 0; i < plan.passes.size(); ++i)
    PassMoments(planned, i, *memory, sweep).put(pass_seconds[i], every_step);
  if (sweep.seconds.empty()) sweep.put({.pass = kLoading}, loading, 0);
  auto live = [document = std::move(document), memory, moments = std::move(sweep.moments)](size_t i) {
    const auto& of = std::get<PlanDocument>(document->contents);
    const PlanMoment& at = moments[i];
    if (at.pass == kLoading) return planner::live_before_passes(of.plan, of.model.graph);
    return planner::live_at(of.plan, of.model.graph, at.pass,
                            PassSweep(of.model.graph, of.plan, at.pass, *memory), at.point);
  };
  return TimelineData{std::move(sweep.seconds), std::move(sweep.use),    sweep.now,
                      plan.limit_bytes,         std::move(sweep.passes), std::move(live)};
}

}  // namespace headroom::reports
