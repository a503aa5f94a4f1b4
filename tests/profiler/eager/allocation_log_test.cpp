#include "profiler/eager/allocation_log.h"

#include <catch2/catch.hpp>

namespace headroom::profiler {
namespace {

TEST_CASE("allocation log: each layer has its result, its workspace and its slack") {
  AllocationLog log;
  log.taken(1, 100, 128);
  log.name(1, "weights");
  log.taken(2, 900, 1100);  // while weights are made ready, of no decode
  log.returned(2, 128);
  log.begin_decode();
  log.begin_layer(0);
  log.taken(3, 40, 180);
  log.taken(4, 20, 210);
  log.returned(3, 160);
  log.end_layer(4, 0.5);
  log.name(4, "conv");
  log.begin_layer(1);
  log.taken(5, 30, 200);
  log.end_layer(5, 0.25);
  log.returned(4, 170);
  log.begin_layer(1);  // once more, higher
  log.taken(6, 25, 230);
  log.taken(7, 50, 280);
  log.returned(6, 250);
  log.returned(99, 0);  // nobody took it
  log.end_layer(7, 0.25);

  const RecordedEagerDecode found = log.recorded(3);
  REQUIRE(found.layers.size() == 3);
  CHECK(found.layers[0].activation_bytes == 20);
  CHECK(found.layers[0].workspace_bytes == 40);
  CHECK(found.layers[0].live_bytes == 160);
  CHECK(found.layers[0].slack_bytes == 50);
  CHECK(found.layers[0].seconds == 0.5);
  CHECK(found.layers[1].activation_bytes == 50);
  CHECK(found.layers[1].workspace_bytes == 25);
  CHECK(found.layers[1].live_bytes == 205);
  CHECK(found.layers[1].slack_bytes == 75);
  CHECK(found.layers[1].seconds == 0.5);
  CHECK(found.layers[2] == RecordedLayer{});
  CHECK(found.peak_bytes == 205);
  CHECK(found.peak_slack_bytes == 75);
  CHECK(log.peak_layer(3) == 1);
  // What had no name when it was highest is the layer's own.
  CHECK(found.peak_live == std::vector<EagerTensor>{{"workspace", 105}, {"weights", 100}});
}

TEST_CASE("allocation log: a result that is a view takes nothing, and one that is named later has its name") {
  AllocationLog log;
  log.begin_decode();
  log.begin_layer(0);
  log.taken(1, 10, 10);
  log.end_layer(1, 0);
  log.name(1, "x");
  log.begin_layer(1);
  log.end_layer(1, 0);
  log.name(1, "view of x");
  const RecordedEagerDecode found = log.recorded(2);
  CHECK(found.layers[0].activation_bytes == 10);
  CHECK(found.layers[1].activation_bytes == 0);
  CHECK(found.layers[1].live_bytes == 10);
  CHECK(found.peak_live == std::vector<EagerTensor>{{"view of x", 10}});
}

TEST_CASE("allocation log: an address that is handed out again was handed back") {
  AllocationLog log;
  log.taken(1, 10, 10);
  log.taken(1, 30, 30);
  const RecordedEagerDecode found = log.recorded(0);
  CHECK(found.peak_bytes == 30);
  CHECK(found.peak_live == std::vector<EagerTensor>{{"workspace", 30}});
}

TEST_CASE("allocation log: the peak may lie between layers") {
  AllocationLog log;
  log.begin_layer(0);
  log.end_layer(0, 0);
  log.taken(1, 10, 10);
  CHECK(log.peak_layer(1) == 1);
  CHECK(log.recorded(1).peak_bytes == 10);
}

}  // namespace
}  // namespace headroom::profiler
