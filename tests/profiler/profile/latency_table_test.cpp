#include "profiler/profile/latency_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random.h"

namespace headroom::profiler {
namespace {

using test::Random;

/// A library that switches its algorithm at 32 rows: a constant term, one for each row, one for each
/// position.
double cost(double rows, double columns) {
  const double position = rows <= 32 ? 4e-9 : 2e-9;
  const double at_switch = rows <= 32 ? 0 : 32 * columns * 2e-9;  // without a jump
  return 2e-6 + rows * 4e-9 + rows * columns * position + at_switch;
}

LatencyTable latency_table_of(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
                              double (*f)(double, double)) {
  LatencyTable latency_table{"conv 3x3 8->8", rows, columns, {}, {}, 0, 0};
  for (int64_t y : rows) {
    for (int64_t x : columns) {
      latency_table.seconds.push_back(f(double(y), double(x)));
      latency_table.workspace_bytes.push_back(y < 32 ? 1000 : 5000);
    }
  }
  return latency_table;
}

TEST_CASE(
    "a latency table meets a constant term and rates exactly, on both sides of a switch and beyond the "
    "grid") {
  const LatencyTable latency_table = latency_table_of({1, 8, 32, 64, 256}, {4, 64, 256}, cost);
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto rows = double(random.integer(1, 256)), columns = double(random.integer(4, 256));
    CAPTURE(rows, columns);
    CHECK(latency_table.seconds_at(rows, columns) == Approx(cost(rows, columns)).epsilon(1e-12));
  }
  // Beyond the end, at no less than the rate of the last grid point.
  const double last = cost(256, 256) / (256 * 256);
  CHECK(latency_table.seconds_at(1000, 256) == Approx(cost(256, 256) + last * 744 * 256).epsilon(1e-9));
  CHECK(latency_table.seconds_at(256, 4000) == Approx(cost(256, 256) + last * 256 * 3744).epsilon(1e-9));
}

TEST_CASE("a latency table without the grid point of a switch errs there, and only there") {
  const LatencyTable latency_table = latency_table_of({1, 8, 64, 256}, {4, 64, 256}, cost);
  CHECK(std::abs(latency_table.seconds_at(32, 256) / cost(32, 256) - 1) > 0.2);
  CHECK(latency_table.seconds_at(128, 100) == Approx(cost(128, 100)).epsilon(1e-12));
}

TEST_CASE("no extent costs less for each position than the least that is stated") {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    LatencyTable latency_table{"x", {1}, {1}, {}, {}, 0, 0};
    for (int64_t i = random.integer(0, 4); i > 0; --i)
      latency_table.rows.push_back(latency_table.rows.back() + random.integer(1, 40));
    for (int64_t i = random.integer(0, 3); i > 0; --i)
      latency_table.columns.push_back(latency_table.columns.back() + random.integer(1, 90));
    for (size_t i = 0; i < latency_table.rows.size() * latency_table.columns.size(); ++i) {
      latency_table.seconds.push_back(random.uniform(0.1, 3) *
                                      double(latency_table.rows[i / latency_table.columns.size()] *
                                             latency_table.columns[i % latency_table.columns.size()]));
    }
    latency_table.workspace_bytes.assign(latency_table.seconds.size(), 0);
    make_monotone(latency_table);
    const double least = latency_table.least_seconds_per_position();
    for (int i = 0; i < 100; ++i) {
      const double rows = random.uniform(0.5, 3.0 * double(latency_table.rows.back())),
                   columns = random.uniform(0.5, 3.0 * double(latency_table.columns.back()));
      CAPTURE(round, rows, columns);
      CHECK(latency_table.seconds_at(rows, columns) >= least * rows * columns * (1 - 1e-9));
      CHECK(latency_table.seconds_at(rows, columns) >=
            latency_table.least_seconds_per_row(columns) * rows * (1 - 1e-9));
      const double inside_columns = std::min(columns, double(latency_table.columns.back()));
      CHECK(latency_table.seconds_at(rows * 1.5, inside_columns) >=
            latency_table.seconds_at(rows, inside_columns) * (1 - 1e-9));
    }
  }
}

TEST_CASE("calls that were disturbed are no longer than larger ones") {
  LatencyTable latency_table = latency_table_of({1, 8, 32}, {4, 64}, cost);
  latency_table.seconds[2] = 1;
  make_monotone(latency_table);
  CHECK(latency_table.seconds[2] == std::min(latency_table.seconds[3], latency_table.seconds[4]));
  CHECK(latency_table.seconds[3] == cost(8, 64));
  CHECK(latency_table.seconds[0] == cost(1, 4));
}

TEST_CASE("workspace is that of the largest grid point around") {
  const LatencyTable latency_table = latency_table_of({1, 8, 32, 64}, {4, 64}, cost);
  CHECK(latency_table.workspace_at(1, 4) == 1000);
  CHECK(latency_table.workspace_at(8, 50) == 1000);
  CHECK(latency_table.workspace_at(9, 4) == 5000);
  CHECK(latency_table.workspace_at(64, 64) == 5000);
  CHECK(latency_table.workspace_at(640, 64) >= 5000);
  LatencyTable fixed = latency_table_of({1, 8}, {4, 64}, cost);
  CHECK(fixed.workspace_at(1000, 1000) == 1000);
}

TEST_CASE("a latency table does not hold far beyond what it saw, where cost was still changing") {
  const LatencyTable settled = latency_table_of({1, 64, 128, 256}, {4, 256}, cost);
  const LatencyTable changing = latency_table_of({1, 8, 32, 64}, {4, 256}, cost);
  const double seen = 64 * 256;
  CHECK(changing.covers(4));
  CHECK(changing.covers(seen));
  CHECK(changing.covers(4 * seen));
  CHECK_FALSE(changing.covers(4 * seen + 1));
  CHECK(settled.covers(1e12));
  // A difference within the latency table's own error is none.
  LatencyTable unsure = changing;
  unsure.held_out_error = 0.4;
  CHECK(unsure.covers(1e12));
  const LatencyTable two_points = latency_table_of({1, 64}, {4, 256}, cost);
  CHECK_FALSE(two_points.covers(1e12));
}

}  // namespace
}  // namespace headroom::profiler
