#include "profiler/measure/decode_ratio.h"

#include <catch2/catch.hpp>

namespace headroom::profiler {
namespace {

LatencyTable flat_table() {
  LatencyTable table{"conv", {1, 16, 64, 256}, {256}, {}, {}, 0, 0};
  for (int64_t rows : table.rows) table.seconds.push_back(double(rows));
  table.workspace_bytes.assign(table.seconds.size(), 0);
  return table;
}

TEST_CASE("large calls take what decodes took, small ones what calls in a row took") {
  LatencyTable table = flat_table();
  meet_ratios(table, {{4096, 1.2}});  // the whole table is the latent's 4096 positions
  CHECK(table.seconds[3] == Approx(256 * 1.2));
  CHECK(table.seconds[2] == Approx(64 * 1.1));  // a quarter: half way down to a sixteenth
  CHECK(table.seconds[1] == Approx(16));
  CHECK(table.seconds[0] == Approx(1));
}

TEST_CASE("between two decodes the ratio is between theirs") {
  LatencyTable table = flat_table();
  meet_ratios(table, {{1024, 1.1}, {4096, 1.3}});
  CHECK(table.seconds[3] == Approx(256 * 1.3));
  CHECK(table.seconds[2] == Approx(64 * 1.1));
  CHECK(table.seconds[1] == Approx(16 * 1.05));
  CHECK(table.seconds[0] == Approx(1));
}

TEST_CASE("a ratio that caches cannot explain is held back") {
  LatencyTable table = flat_table();
  meet_ratios(table, {{4096, 9.0}});
  CHECK(table.seconds[3] == Approx(256 * 1.5));
}

}  // namespace
}  // namespace headroom::profiler
