#include "reports/figures/stream_lanes.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "tests/reports/figures/sample_documents.h"
#include "tests/reports/figures/sample_gpu_trace.h"

namespace headroom::reports {
namespace {

using namespace test;

RecordedTrace watched_decode() {
  const Model model = small_decoder();
  const planner::CostModel costs(model.graph);
  const PlanDocument document = planned(model, {"small", 256, 192, 1, 1, Dtype::fp32}, kAmple, costs);
  return recorded_gpu_trace(document.plan, document.model.graph);
}

std::map<std::string, double> busy_seconds(const std::vector<StreamLane>& lanes) {
  std::map<std::string, double> busy;
  for (const StreamLane& lane : lanes) {
    for (const LaneBlock& block : lane.blocks) busy[lane.title] += block.busy_seconds;
  }
  return busy;
}

TEST_CASE("lanes of streams: each activity once, the busiest stream first") {
  RecordedTrace recorded = watched_decode();
  const std::vector<StreamLane> lanes = stream_lanes(recorded, 0, recorded.trace.seconds, 100'000);
  REQUIRE(lanes.size() == 3);
  CHECK(lanes[0].title == "stream 7");  // kernels and fills
  size_t blocks = 0;
  for (const StreamLane& lane : lanes) {
    blocks += lane.blocks.size();
    CHECK(std::is_sorted(lane.blocks.begin(), lane.blocks.end(), [](const LaneBlock& a, const LaneBlock& b) {
      return a.begin_seconds < b.begin_seconds;
    }));
  }
  CHECK(blocks == recorded.trace.activities.size());
  CHECK(busy_seconds(lanes)["stream 7"] > busy_seconds(lanes)["stream 13"]);
}

TEST_CASE(
    "lanes of streams: summed up by columns they are as busy, and no column is busier than it is long") {
  const RecordedTrace recorded = watched_decode();
  const double end = recorded.trace.seconds;
  const auto exact = busy_seconds(stream_lanes(recorded, 0, end, 100'000));
  for (const size_t columns : {1, 5, 7}) {
    const std::vector<StreamLane> lanes = stream_lanes(recorded, 0, end, columns);
    CHECK(lanes.size() == 3);
    for (const auto& [title, busy] : busy_seconds(lanes)) CHECK(busy == Approx(exact.at(title)));
    for (const StreamLane& lane : lanes) {
      std::map<std::tuple<double, int32_t, ActivityKind>, int> once;
      for (const LaneBlock& block : lane.blocks) {
        CHECK(block.busy_seconds <= block.end_seconds - block.begin_seconds + 1e-12);
        CHECK(++once[{block.begin_seconds, block.pass, block.kind}] == 1);
      }
    }
  }
}

TEST_CASE("lanes of streams: only what is in sight, on the same streams, none where no GPU was watched") {
  RecordedTrace recorded = watched_decode();
  const std::vector<StreamLane> lanes = stream_lanes(recorded, 0.26, 0.3, 1000);
  REQUIRE(lanes.size() == 3);
  CHECK(lanes[0].blocks.size() == 1);
  CHECK(lanes[0].blocks[0].pass == 1);
  recorded.trace.tiles = {{0, 0.25, 0, 0, 0, -1}, {0.25, 0.5, 0, 1, 0, -1}};
  const std::vector<StreamLane> with_tiles = stream_lanes(recorded, 0, 1, 1000);
  REQUIRE(with_tiles.size() == 4);
  CHECK(with_tiles.back().tiles);
  CHECK(with_tiles.back().blocks.size() == 2);
  recorded.trace.activities.clear();
  CHECK(stream_lanes(recorded, 0, 1, 100).empty());
}

}  // namespace
}  // namespace headroom::reports
