#include "reports/figures/memory_map.h"

#include <algorithm>
#include <set>

namespace headroom::reports {
namespace {

struct MapPeak {
  double seconds = 0;
  int64_t bytes = 0;
};

MapPeak peak_of(const MemoryMap& map) {
  std::vector<std::pair<double, int64_t>> changes;  // frees come before allocations of the same moment
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

}  // namespace

MemoryMap memory_map(const RecordedTrace& recorded) {
  const Trace& trace = recorded.trace;
  MemoryMap map;
  // The CPU's pool returns free pages to the system. So the limit applies to live bytes, not to addresses.
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

Chart map_chart(const MemoryMap& map) {
  Chart chart;
  chart.x = {"time", Unit::seconds};
  chart.y = {"offset", Unit::bytes};
  chart.spans = map.passes;
  std::set<double> changes{0, map.end_seconds};
  for (const MapPlace& place : map.places) {
    changes.insert(place.begin_seconds);
    changes.insert(place.end_seconds);
  }
  Series reserved{"", Mark::steps, ColourRole::driver, {changes.begin(), changes.end()}, {}};
  reserved.y.assign(reserved.x.size(), double(map.reserved_bytes));
  chart.series = {std::move(reserved)};
  if (is_limit(map.limit_bytes)) {
    const auto limit = double(map.limit_bytes);
    chart.guides = {{"limit " + format(Unit::bytes, limit), limit, false, ColourRole::limit, true}};
  }
  return chart;
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

Table places_table(const MemoryMap& map, double seconds) {
  Table table;
  table.title = "in the pool at " + format(Unit::seconds, seconds);
  table.columns = {{.title = "name", .is_text = true},
                   {.title = "kind", .is_text = true},
                   {.title = "memory", .unit = Unit::bytes, .bars = true},
                   {.title = "offset", .unit = Unit::bytes, .explanation = "First byte of the block."},
                   {.title = "from", .unit = Unit::seconds, .explanation = "When the block is allocated."},
                   {.title = "to", .unit = Unit::seconds, .explanation = "When the block is freed."}};
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
