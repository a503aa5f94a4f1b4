#include "reports/figures/memory_map.h"

#include <catch2/catch.hpp>

namespace headroom::reports {
namespace {

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
  CHECK(map.reserved_bytes == 350);
  CHECK(map.live_bytes == 150);
  CHECK(peak_seconds(map) == 0.5);
  CHECK_FALSE(is_limit(map.limit_bytes));  // which is not one of addresses
  CHECK(map.places[0].name == "weights");
  CHECK(map.places[1].name == "decoder.conv_in");
  CHECK(gaps_of(map, places_at(map, 0.7)).front().bytes == 200);
  const Table table = places_table(map, 0.7);
  REQUIRE(table.rows.size() == 3);  // two places and the gap between them
  CHECK(std::get<double>(table.rows[2].cells[2]) == 200);
  CHECK(memory_map(RecordedTrace{}).places.empty());
}

}  // namespace
}  // namespace headroom::reports
