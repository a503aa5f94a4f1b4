// Timelines of traces of a GPU: memory moves between a reservation's slack and what the decode asks for, and
// all of it adds up at every moment.
#include <algorithm>
#include <catch2/catch.hpp>

#include "reports/figures/timeline.h"
#include "tests/decoder/plan/small_plan.h"
#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_gpu_trace.h"
#include "tests/support/random.h"

namespace headroom::reports {
namespace {

using test::document_of;
using test::Random;

MemoryUse use_of(const std::vector<LiveEntry>& entries) {
  MemoryUse use{};
  for (const LiveEntry& entry : entries) use[static_cast<size_t>(entry.kind)] += entry.bytes;
  return use;
}

/// Every moment is what a run of the first events adds up to, in their order, none left out at the end.
void check_adds_up(const RecordedTrace& recorded) {
  const Timeline timeline = measured_timeline(document_of(recorded, "trace.json"));
  const std::vector<TraceEvent>& events = recorded.trace.events;
  KindBytes sums{};
  size_t event = 0;
  for (size_t i = 0; i < timeline.size(); ++i) {
    const auto is_now = [&] {
      // Nothing is outside.
      return std::equal(sums.begin(), sums.end(), timeline.use(i).begin()) && timeline.use(i).back() == 0;
    };
    REQUIRE(event < events.size());
    do {
      apply(events[event++], sums);
    } while (!is_now() && event < events.size() && events[event].seconds == timeline.seconds(i));
    CAPTURE(i, event);
    REQUIRE(is_now());
    REQUIRE(events[event - 1].seconds == timeline.seconds(i));
    REQUIRE(use_of(timeline.live_set(i)) == timeline.use(i));
    REQUIRE(timeline.total_bytes(i) == total(timeline.use(i)));
  }
  CHECK(event == events.size());
}

TEST_CASE("what was on a GPU is named: by layers, and slack, libraries and context as themselves") {
  const Graph graph = testing::small_graph();
  const Plan plan = testing::small_plan(graph);
  const RecordedTrace recorded = test::recorded_gpu_trace(plan, graph);
  check_adds_up(recorded);
  const Timeline timeline = measured_timeline(document_of(recorded, "trace.json"));
  const int64_t tile = 21 << 20;  // in the second pass
  const size_t i = timeline.at(test::kGpuPassSeconds + 0.125);
  CHECK(timeline.live_set(i) ==
        std::vector<LiveEntry>{{"context and modules", MemoryKind::context, test::kGpuContextBytes},
                               {"slack", MemoryKind::slack, test::kGpuReservedBytes - (10 << 20) - tile},
                               {graph.tensor(plan.passes[1].steps[0].tensor).name, MemoryKind::tile, tile},
                               {"weights", MemoryKind::weights, 10 << 20},
                               {"libraries", MemoryKind::libraries, test::kGpuLibraryBytes}});
  const Table table = live_table(timeline, i);
  CHECK(std::get<std::string>(table.rows[1].cells[1]) == "slack");
  CHECK(std::get<double>(table.rows[1].cells[2]) == double(test::kGpuReservedBytes - (10 << 20) - tile));
}

TEST_CASE("a GPU's chart has its kinds and the driver's count, others have neither") {
  const Graph graph = testing::small_graph();
  const RecordedTrace recorded = test::recorded_gpu_trace(testing::small_plan(graph), graph);
  const auto names = [](const Timeline& timeline, double begin, double end) {
    std::vector<std::string> list;
    for (const Series& series : timeline_chart(timeline, "memory", begin, end, 50).series)
      list.push_back(series.name);
    return list;
  };
  const Timeline timeline = measured_timeline(document_of(recorded, "trace.json"));
  using Names = std::vector<std::string>;
  const Names all{"weights",
                  "latent",
                  "kept tensors",
                  "tiles",
                  "workspace",
                  "slack",
                  "libraries",
                  "context and modules",
                  "counted by the driver"};
  CHECK(names(timeline, 0, 1) == all);
  CHECK(names(timeline, 0, 0.1) == all);  // libraries come later: an interval has the kinds of the whole
  const Chart chart = timeline_chart(timeline, "memory", 0, timeline.end_seconds(), 50);
  const Series& driver = chart.series.back();
  CHECK(driver.mark == Mark::steps);
  CHECK(driver.colour_role == ColourRole::driver);
  CHECK(*std::max_element(driver.y.begin(), driver.y.end()) ==
        double(test::kGpuContextBytes + test::kGpuReservedBytes + test::kGpuLibraryBytes +
               test::kGpuUnseenBytes));
  CHECK_FALSE(timeline.has(MemoryKind::outside));
  CHECK(timeline.has(MemoryKind::libraries));

  RecordedTrace of_cpu;
  of_cpu.trace.events = {{0, 100, -1, -1, TensorId{-1}, MemoryKind::tile}};
  of_cpu.trace.outside = {{0.5, 10}};
  of_cpu.trace.seconds = 1;
  CHECK(names(measured_timeline(document_of(of_cpu, "trace.json")), 0, 1) ==
        Names{"weights", "latent", "kept tensors", "tiles", "workspace", "other process memory"});
}

TEST_CASE(
    "the peak of a GPU's trace is where the decode has most of its reservation, as drawn in each column") {
  RecordedTrace recorded;
  Trace& trace = recorded.trace;
  trace.events = {{0, 1'000'000, -1, -1, TensorId{-1}, MemoryKind::slack}};
  int64_t most = 0;
  Random random(1);
  for (int i = 1; i < 5000; ++i) {
    const int64_t bytes = random.integer(1, 1'000'000);
    most = std::max(most, bytes);
    trace.events.push_back({double(i), bytes, -1, -1, TensorId{-1}, MemoryKind::tile, -bytes});
    trace.events.push_back({i + 0.5, -bytes, -1, -1, TensorId{-1}, MemoryKind::tile, bytes});
  }
  trace.seconds = 5000;
  const auto kTile = static_cast<size_t>(MemoryKind::tile);
  const Timeline timeline = measured_timeline(document_of(recorded, "trace.json"));
  CHECK(timeline.use(timeline.peak())[kTile] == most);
  const Chart chart = timeline_chart(timeline, "", 0, 5000, 20);
  CHECK(*std::max_element(chart.series[kTile].y.begin(), chart.series[kTile].y.end()) == double(most));
}

TEST_CASE("a GPU's limit is named as that of the reservation, where there is more than that") {
  RecordedTrace recorded;
  recorded.trace.limit_bytes = 1 << 20;
  recorded.trace.events = {{0, 100, -1, -1, TensorId{-1}, MemoryKind::slack}};
  const auto label = [&] {
    return timeline_chart(measured_timeline(document_of(recorded, "trace.json")), "", 0, 1, 5)
        .guides[0]
        .label;
  };
  CHECK(label() == "limit 1.0 MiB");
  recorded.trace.events.push_back({0, 100, -1, -1, TensorId{-1}, MemoryKind::context});
  CHECK(label() == "limit of the reservation 1.0 MiB");
}

TEST_CASE("a decode goes on until the driver was asked for the last time") {
  RecordedTrace recorded;
  recorded.trace.seconds = 1;
  recorded.trace.driver = {{0.5, 10}, {1.25, 20}};
  CHECK(measured_timeline(document_of(recorded, "trace.json")).end_seconds() == 1.25);
}

}  // namespace
}  // namespace headroom::reports
