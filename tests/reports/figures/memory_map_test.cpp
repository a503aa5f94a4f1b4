#include "reports/figures/memory_map.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "decoder/gpu/dry_run.h"
#include "decoder/graph/errors.h"
#include "planner/search/frontier.h"
#include "tests/reports/figures/sample_documents.h"

namespace headroom::reports {
namespace {

using namespace test;

PlanDocument cuda_plan(int64_t batch, double above_smallest) {
  const Model model = small_decoder();
  const Request request{"small", 512, 384, 1, batch, Dtype::bf16, DeviceKind::cuda};
  const planner::CostModel costs(model.graph, DeviceKind::cuda);
  const int64_t smallest = smallest_bytes(model, request, {}, costs);
  return planned(model, request, static_cast<int64_t>(double(smallest) * above_smallest), costs);
}

/// Replays the places in time.
void check_map(const PlanDocument& document) {
  const MemoryMap map = memory_map(document);
  CHECK(map.reserved_bytes == document.plan.predicted_peak_bytes);
  CHECK(map.passes.size() == document.plan.passes.size());
  struct Edge {
    double seconds;
    bool begins;
    const MapPlace* place;
  };
  std::vector<Edge> edges;
  std::set<MemoryKind> kinds;
  for (const MapPlace& place : map.places) {
    CHECK(place.begin_seconds >= 0);
    CHECK(place.begin_seconds <= place.end_seconds);
    CHECK(place.end_seconds <= map.end_seconds * (1 + 1e-9));
    CHECK(place.offset >= 0);
    CHECK(place.offset + place.bytes <= map.reserved_bytes);
    kinds.insert(place.kind);
    if (place.begin_seconds == place.end_seconds) continue;
    edges.push_back({place.begin_seconds, true, &place});
    edges.push_back({place.end_seconds, false, &place});
  }
  CHECK(kinds.contains(MemoryKind::weights));
  CHECK(kinds.contains(MemoryKind::tile));
  CHECK(kinds.contains(MemoryKind::kept));
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.begins < b.begins;
  });
  std::map<int64_t, int64_t> live;  // ends by offsets
  int64_t bytes = 0, most = 0;
  bool overlap = false;
  for (const Edge& edge : edges) {
    if (!edge.begins) {
      live.erase(edge.place->offset);
      bytes -= edge.place->bytes;
      continue;
    }
    const auto after = live.lower_bound(edge.place->offset);
    overlap |= after != live.end() && after->first < edge.place->offset + edge.place->bytes;
    overlap |= after != live.begin() && std::prev(after)->second > edge.place->offset;
    live[edge.place->offset] = edge.place->offset + edge.place->bytes;
    bytes += edge.place->bytes;
    most = std::max(most, bytes);
  }
  CHECK_FALSE(overlap);
  CHECK(most == map.live_bytes);
  int64_t at_peak = 0;
  for (const MapPlace& place : places_at(map, peak_seconds(map))) at_peak += place.bytes;
  CHECK(at_peak == map.live_bytes);
  // Any moment adds up to the reservation.
  for (const double share : {0.0, 0.1, 0.5, 0.77, 0.999}) {
    int64_t all = 0;
    for (const LiveEntry& entry : entries_at(map, map.end_seconds * share)) all += entry.bytes;
    CHECK(all == map.reserved_bytes);
    const auto places = places_at(map, map.end_seconds * share);
    int64_t in_gaps = 0, in_places = 0;
    for (const MapGap& gap : gaps_of(map, places)) in_gaps += gap.bytes;
    for (const MapPlace& place : places) in_places += place.bytes;
    CHECK(in_gaps + in_places == map.reserved_bytes);
    double listed = 0;
    for (const Row& row : places_table(map, map.end_seconds * share).rows)
      listed += std::get<double>(row.cells[2]);
    CHECK(listed == Approx(double(map.reserved_bytes)));
  }
}

TEST_CASE("memory map: nothing overlaps, and the most that is live is what was placed") {
  check_map(cuda_plan(1, 1.02));
  check_map(cuda_plan(1, 4));
}

TEST_CASE("memory map: what is moved between passes lies in one place after another") {
  const Model model = resolve_model("sd15");
  const planner::CostModel costs(model.graph, DeviceKind::cuda);
  const Request request{"sd15", 256, 256, 1, 1, Dtype::fp32, DeviceKind::cuda};
  int64_t moves = 0;
  for (const planner::FrontierPoint& point : planner::frontier({model, request, {}, costs}, 4)) {
    const PlanDocument document = planned(model, request, point.peak_bytes, costs);
    CAPTURE(point.peak_bytes);
    check_map(document);
    const DryRun dry_run = run_dry(model, document.plan);
    const int64_t all_moves = std::ssize(dry_run.placement.moves);
    const int64_t weights = dry_run.weights_bytes > 0 ? 1 : 0;
    const int64_t added = std::ssize(memory_map(document).places) - dry_run.requests.count() - weights;
    CHECK(added <= all_moves);
    CHECK((added > 0) == (all_moves > 0));
    moves += all_moves;
  }
  CHECK(moves > 0);
}

TEST_CASE("memory map: of a batch, its first micro-batch") {
  const PlanDocument document = cuda_plan(3, 1.5);
  check_map(document);
}

TEST_CASE("memory map: the CPU's pool places nothing before a decode") {
  const Model model = small_decoder();
  const planner::CostModel costs(model.graph);
  CHECK_THROWS_AS(memory_map(planned(model, {"small", 256, 192, 1, 1, Dtype::fp32}, kAmple, costs)),
                  InputError);
}

TEST_CASE("memory map: as a trace recorded it, the most that was live and the addresses that were used") {
  RecordedTrace recorded;
  recorded.layers = {"decoder.conv_in"};
  recorded.pass_names = {"decoder.conv_in"};
  recorded.trace.seconds = 2;
  recorded.trace.limit_bytes = 1000;
  recorded.trace.passes = {{0.5, 2, 0, 0}};
  recorded.trace.places = {{0, 2, 0, 100, TensorId{-1}, -1, MemoryKind::weights},
                           {0.5, 1, 300, 50, TensorId{0}, 0, MemoryKind::tile},
                           {1, 2, 100, 20, TensorId{0}, 0, MemoryKind::kept}};
  const MemoryMap map = memory_map(recorded);
  CHECK(map.measured);
  CHECK(map.reserved_bytes == 350);
  CHECK(map.live_bytes == 150);
  CHECK(peak_seconds(map) == 0.5);
  CHECK_FALSE(is_limit(map.limit_bytes));  // which is not one of addresses
  CHECK(map.places[0].name == "weights");
  CHECK(map.places[1].name == "decoder.conv_in");
  CHECK(gaps_of(map, places_at(map, 0.7)).front().bytes == 200);
  // Of addresses alone, so no gaps among what is live.
  for (const LiveEntry& entry : entries_at(map, 0.7)) CHECK(entry.kind != MemoryKind::slack);
  CHECK(memory_map(RecordedTrace{}).places.empty());
}

}  // namespace
}  // namespace headroom::reports
