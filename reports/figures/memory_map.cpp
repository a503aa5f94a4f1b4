#include "reports/figures/memory_map.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "decoder/gpu/dry_run.h"
#include "decoder/gpu/live_range.h"
#include "decoder/graph/errors.h"
#include "decoder/lowering/memory.h"
#include "decoder/lowering/step_shares.h"
#include "reports/figures/pass_times.h"

namespace headroom::reports {
namespace {

/// Of the time of a step: in which it asks for memory as it begins, or hands back as it ends.
constexpr double kStepEdge = 0.02;

/// Where each tile and step of a plan is in time: band by band by their rows, and in a band tile by tile and
/// step by step.
class PlanClock {
 public:
  explicit PlanClock(const PlanDocument& document)
      : document_(document), sizes_(sizes_of(document.model.graph, document.plan)) {
    double now = seconds_before_passes(document);
    for (const double seconds : seconds_of_passes(document)) {
      begins_.push_back(now);
      now += seconds;
    }
    begins_.push_back(now);
  }

  double begin(size_t pass) const { return begins_[pass]; }
  double end() const { return begins_.back(); }

  /// When a tile begins, and when its last step is done.
  std::pair<double, double> of_tile(size_t number, int64_t tile, int64_t tiles) const {
    const Pass& pass = pass_of(number);
    const auto of_band = static_cast<int64_t>(pass.tiles.t.size() * pass.tiles.x.size());
    const auto bands = static_cast<int64_t>(pass.tiles.y.size());
    if (tiles != of_band * bands) return {at(number, tile, tiles), at(number, tile + 1, tiles)};
    const Interval &band = pass.tiles.y[static_cast<size_t>(tile / of_band)],
                   whole{pass.tiles.y.front().begin, pass.tiles.y.back().end};
    const auto moment = [&](int64_t done) {
      const double rows =
          double(band.begin - whole.begin) + double(band.length()) * double(done) / double(of_band);
      return begins_[number] + (begins_[number + 1] - begins_[number]) * rows / double(whole.length());
    };
    return {moment(tile % of_band), moment(tile % of_band + 1)};
  }

  /// The share of a tile's time that is over after a step.
  double share_after(size_t number, int64_t tile, size_t step) {
    const Pass& pass = pass_of(number);
    const auto of_band = static_cast<int64_t>(pass.tiles.t.size() * pass.tiles.x.size());
    Extent extent = longest_tile(pass);
    const auto band = std::min(static_cast<size_t>(tile / of_band), pass.tiles.y.size() - 1);
    extent.y = pass.tiles.y[band].length();
    const auto [entry, is_new] = shares_.try_emplace({number, extent.y});
    if (is_new) {
      entry->second = shares_of_steps(document_.model.graph, pass, extent, sizes_);
      std::partial_sum(entry->second.begin(), entry->second.end(), entry->second.begin());
    }
    return std::min(entry->second[step], 1.0);
  }

 private:
  const Pass& pass_of(size_t number) const { return document_.plan.passes[number]; }
  double at(size_t number, int64_t tile, int64_t tiles) const {
    return begins_[number] + (begins_[number + 1] - begins_[number]) * double(tile) / double(tiles);
  }

  const PlanDocument& document_;
  const Sizes sizes_;
  std::vector<double> begins_;  ///< of passes, and the end
  std::map<std::pair<size_t, int64_t>, std::vector<double>> shares_;
};

/// Listens to a dry run, and gives every request a time. What is asked for and handed back within a step is
/// spread over the step in its order.
class PlaceRecorder final : public EventSink, private MemoryObserver {
 public:
  PlaceRecorder(const PlanDocument& document, MemoryMap& map)
      : graph_(document.model.graph), clock_(document), map_(map) {}

  void pass_started(const Plan&, int32_t pass) override {
    if (pass < pass_) over_ = true;  // the next micro-batch
    pass_ = pass;
    tick(clock_.begin(static_cast<size_t>(pass)));
  }
  void tile_started(const Plan&, int32_t pass, int64_t tile, int64_t tiles) override {
    tile_ = clock_.of_tile(static_cast<size_t>(pass), tile, tiles);
    tick(tile_.first);
  }
  void step_done(const Plan&, const StepDone& done) override {
    const double share =
        clock_.share_after(static_cast<size_t>(done.pass), done.tile, static_cast<size_t>(done.step));
    tick(tile_.first + (tile_.second - tile_.first) * share);
  }
  void allocating(MemoryKind kind, TensorId tensor) override {
    is_state_ = false;
    kind_ = kind;
    tensor_ = tensor;
  }
  void holds_tile(const void* memory) override {
    const auto found = numbers_.find(memory);
    if (found != numbers_.end() && found->second < map_.places.size())
      map_.places[found->second].kind = MemoryKind::tile;
  }
  MemoryObserver* memory_observer() override { return this; }

  void finish() {
    tick(clock_.end());
    map_.end_seconds = clock_.end();
    for (size_t i = 0; i < map_.places.size(); ++i) {
      if (!ended_[i]) map_.places[i].end_seconds = map_.end_seconds;
    }
  }
  const PlanClock& clock() const { return clock_; }

 private:
  struct Event {
    size_t place = 0;
    bool begins = false;
  };

  void allocated(const void* memory, int64_t bytes, int64_t, int64_t) override {
    const size_t number = requests_++;
    numbers_[memory] = number;
    if (over_) return;
    MapPlace place;
    place.bytes = bytes;
    place.kind = kind_;
    place.name = is_state_                 ? "statistics"
                 : tensor_ == TensorId{-1} ? title_of(kind_)
                                           : graph_.tensor(tensor_).name;
    place.pass = pass_;
    map_.places.push_back(std::move(place));
    ended_.push_back(false);
    pending_.push_back({number, true});
  }
  void freed(const void* memory, int64_t, int64_t, int64_t) override {
    const auto found = numbers_.find(memory);
    if (found == numbers_.end()) return;
    if (found->second < map_.places.size() && !over_) pending_.push_back({found->second, false});
    numbers_.erase(found);
  }

  /// What happened since the last moment gets its time, in its order: what a step asks for as it begins, and
  /// what is handed back after that as it ends.
  void tick(double seconds) {
    if (over_) seconds = clock_.end();
    seconds = std::max(seconds, now_);
    size_t asked = pending_.size();  // behind the last request
    while (asked > 0 && !pending_[asked - 1].begins) --asked;
    const double edge = (seconds - now_) * kStepEdge;
    for (size_t i = 0; i < pending_.size(); ++i) {
      const double at = i < asked
                            ? now_ + edge * double(i) / double(asked)
                            : seconds - edge * (1 - double(i - asked) / double(pending_.size() - asked));
      MapPlace& place = map_.places[pending_[i].place];
      (pending_[i].begins ? place.begin_seconds : place.end_seconds) = at;
      if (!pending_[i].begins) ended_[pending_[i].place] = true;
    }
    pending_.clear();
    now_ = seconds;
  }

  const Graph& graph_;
  PlanClock clock_;
  MemoryMap& map_;
  // Before anything else statistics are given their memory.
  MemoryKind kind_ = MemoryKind::latent;
  bool is_state_ = true;
  TensorId tensor_{-1};
  int32_t pass_ = -1;
  bool over_ = false;
  std::pair<double, double> tile_;
  double now_ = 0;
  size_t requests_ = 0;
  std::unordered_map<const void*, size_t> numbers_;  ///< of requests, by address
  std::vector<bool> ended_;
  std::vector<Event> pending_;
};

struct MapPeak {
  double seconds = 0;
  int64_t bytes = 0;
};

MapPeak peak_of(const MemoryMap& map) {
  std::vector<std::pair<double, int64_t>> changes;  // what goes comes first among those of one moment
  for (const MapPlace& place : map.places) {
    if (place.end_seconds <= place.begin_seconds) continue;
    changes.emplace_back(place.begin_seconds, place.bytes);
    changes.emplace_back(place.end_seconds, -place.bytes);
  }
  std::sort(changes.begin(), changes.end());
  MapPeak peak;
  int64_t live = 0;
  for (const auto& [seconds, bytes] : changes) {
    live += bytes;
    if (live > peak.bytes) peak = {seconds, live};
  }
  return peak;
}

/// Gives places their offsets; what is moved before a pass has another place from then on.
void put_places(MemoryMap& map, const DryRun& dry_run, const PlanClock& clock) {
  const std::vector<LiveRange> ranges = live_ranges_of(dry_run.requests);
  std::vector<size_t> last(map.places.size());  // by request: where it lies at last
  for (const Stay& stay : stays_of(ranges, dry_run.placement)) {
    const auto number = static_cast<size_t>(stay.number);
    if (number >= last.size()) continue;  // of a later micro-batch
    const int64_t offset = dry_run.weights_bytes + stay.offset;
    if (stay.begin == ranges[number].begin) {
      map.places[number].offset = offset;
      last[number] = number;
      continue;
    }
    const auto pass =
        std::find(dry_run.passes.begin(), dry_run.passes.end(), static_cast<size_t>(stay.begin));
    if (pass == dry_run.passes.end()) continue;  // the same
    MapPlace& before = map.places[last[number]];
    MapPlace after = before;
    after.begin_seconds = before.end_seconds =
        clock.begin(static_cast<size_t>(pass - dry_run.passes.begin()));
    after.offset = offset;
    last[number] = map.places.size();
    map.places.push_back(std::move(after));
  }
}

}  // namespace

MemoryMap memory_map(const PlanDocument& document) {
  const Plan& plan = document.plan;
  if (plan.request.device != DeviceKind::cuda)
    throw InputError(
        "on the CPU nothing is placed before a decode: its pool maps pages as they are asked for");
  MemoryMap map;
  PlaceRecorder recorder(document, map);
  const DryRun dry_run = run_dry(document.model, plan, &recorder);
  recorder.finish();
  put_places(map, dry_run, recorder.clock());
  if (dry_run.weights_bytes > 0) {
    MapPlace weights{0, map.end_seconds, 0, dry_run.weights_bytes, MemoryKind::weights, {}, -1};
    weights.name = title_of(MemoryKind::weights);
    map.places.insert(map.places.begin(), std::move(weights));
  }
  std::stable_sort(map.places.begin(), map.places.end(),
                   [](const MapPlace& a, const MapPlace& b) { return a.begin_seconds < b.begin_seconds; });
  map.reserved_bytes = std::max(dry_run.bytes(), plan.predicted_peak_bytes);
  map.live_bytes = dry_run.live_bytes();
  map.limit_bytes = plan.limit_bytes;
  for (size_t i = 0; i < plan.passes.size(); ++i)
    map.passes.push_back({recorder.clock().begin(i), recorder.clock().begin(i + 1), plan.passes[i].name});
  return map;
}

MemoryMap memory_map(const RecordedTrace& recorded) {
  const Trace& trace = recorded.trace;
  MemoryMap map;
  map.measured = true;
  // On the CPU free pages go back to the system: the limit is of what is live, not of addresses.
  map.gaps_cost_memory = !trace.driver.empty();
  if (map.gaps_cost_memory) map.limit_bytes = trace.limit_bytes;
  map.end_seconds = trace.seconds;
  for (const TracePlace& place : trace.places) {
    const bool of_layer = place.layer != TensorId{-1};
    map.places.push_back(
        {place.begin_seconds, place.end_seconds, place.offset, place.bytes, place.kind,
         of_layer ? recorded.layers[static_cast<size_t>(index(place.layer))] : title_of(place.kind),
         place.pass});
    map.reserved_bytes = std::max(map.reserved_bytes, place.offset + place.bytes);
  }
  map.live_bytes = peak_of(map).bytes;
  for (const TraceInterval& pass : trace.passes) {
    map.passes.push_back(
        {pass.begin_seconds, pass.end_seconds, recorded.pass_names[static_cast<size_t>(pass.pass)]});
  }
  return map;
}

double peak_seconds(const MemoryMap& map) {
  return peak_of(map).seconds;
}

std::vector<MapPlace> places_at(const MemoryMap& map, double seconds) {
  std::vector<MapPlace> found;
  for (const MapPlace& place : map.places) {
    if (place.begin_seconds > seconds) break;
    if (seconds < place.end_seconds) found.push_back(place);
  }
  std::sort(found.begin(), found.end(),
            [](const MapPlace& a, const MapPlace& b) { return a.offset < b.offset; });
  return found;
}

std::vector<MapGap> gaps_of(const MemoryMap& map, const std::vector<MapPlace>& places) {
  std::vector<MapGap> gaps;
  int64_t at = 0;
  for (const MapPlace& place : places) {
    if (place.offset > at) gaps.push_back({at, place.offset - at});
    at = std::max(at, place.offset + place.bytes);
  }
  if (at < map.reserved_bytes) gaps.push_back({at, map.reserved_bytes - at});
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const MapGap& a, const MapGap& b) { return a.bytes > b.bytes; });
  return gaps;
}

std::vector<LiveEntry> entries_at(const MemoryMap& map, double seconds) {
  std::vector<LiveEntry> entries;
  int64_t free = map.reserved_bytes;
  for (const MapPlace& place : places_at(map, seconds)) {
    entries.push_back({place.name, place.kind, place.bytes});
    free -= place.bytes;
  }
  if (map.gaps_cost_memory) entries.push_back({"gaps", MemoryKind::slack, free});
  return by_size(entries);
}

Table places_table(const MemoryMap& map, double seconds) {
  Table table;
  table.title = std::string(map.measured ? "in the pool at " : "in the reservation at ") +
                format(Unit::seconds, seconds);
  table.columns = {{.title = "name", .is_text = true},
                   {.title = "kind", .is_text = true},
                   {.title = "memory", .unit = Unit::bytes, .bars = true},
                   {.title = "offset", .unit = Unit::bytes, .explanation = "Where it begins."},
                   {.title = "from", .unit = Unit::seconds, .explanation = "When it is asked for."},
                   {.title = "to", .unit = Unit::seconds, .explanation = "When it is handed back."}};
  const std::vector<MapPlace> places = places_at(map, seconds);
  for (size_t i = 0; i < places.size();) {
    MapPlace run = places[i];
    for (++i; i < places.size(); ++i) {
      const MapPlace& next = places[i];
      if (next.name != run.name || next.kind != run.kind || next.offset != run.offset + run.bytes) break;
      run.bytes += next.bytes;
      run.begin_seconds = std::min(run.begin_seconds, next.begin_seconds);
      run.end_seconds = std::max(run.end_seconds, next.end_seconds);
    }
    table.rows.push_back({{run.name, std::string(title_of(run.kind)), double(run.bytes), double(run.offset),
                           run.begin_seconds, run.end_seconds},
                          false});
  }
  for (const MapGap& gap : gaps_of(map, places)) {
    table.rows.push_back({{std::string("gap"), std::string(title_of(MemoryKind::slack)), double(gap.bytes),
                           double(gap.offset), Cell(), Cell()},
                          false});
  }
  return table;
}

}  // namespace headroom::reports
