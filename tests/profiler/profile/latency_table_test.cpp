#include "profiler/profile/latency_table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/random.h"

namespace headroom {
namespace {

using test::Random;

/// A library that changes its way at 32 rows: a fixed part, one for each row, one for each position.
double cost(double rows, double columns) {
  const double position = rows <= 32 ? 4e-9 : 2e-9;
  const double at_switch = rows <= 32 ? 0 : 32 * columns * 2e-9;  // without a jump
  return 2e-6 + rows * 4e-9 + rows * columns * position + at_switch;
}

Law law_of(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
           double (*f)(double, double)) {
  Law law{"conv 3x3 8->8", rows, columns, {}, {}, 0, 0};
  for (int64_t y : rows) {
    for (int64_t x : columns) {
      law.seconds.push_back(f(double(y), double(x)));
      law.workspace_bytes.push_back(y < 32 ? 1000 : 5000);
    }
  }
  return law;
}

TEST_CASE("a law of fixed parts and rates is met exactly, on both sides of a switch and beyond the knots") {
  const Law law = law_of({1, 8, 32, 64, 256}, {4, 64, 256}, cost);
  Random random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto rows = double(random.integer(1, 256)), columns = double(random.integer(4, 256));
    CAPTURE(rows, columns);
    CHECK(law.seconds_at(rows, columns) == Approx(cost(rows, columns)).epsilon(1e-12));
  }
  // Beyond the end, at no less than the rate of the last knot.
  const double last = cost(256, 256) / (256 * 256);
  CHECK(law.seconds_at(1000, 256) == Approx(cost(256, 256) + last * 744 * 256).epsilon(1e-9));
  CHECK(law.seconds_at(256, 4000) == Approx(cost(256, 256) + last * 256 * 3744).epsilon(1e-9));
}

TEST_CASE("a law without the knot of a switch errs there, and only there") {
  const Law law = law_of({1, 8, 64, 256}, {4, 64, 256}, cost);
  CHECK(std::abs(law.seconds_at(32, 256) / cost(32, 256) - 1) > 0.2);
  CHECK(law.seconds_at(128, 100) == Approx(cost(128, 100)).epsilon(1e-12));
}

TEST_CASE("no extent costs less for each position than the least that is stated") {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    Law law{"x", {1}, {1}, {}, {}, 0, 0};
    for (int64_t i = random.integer(0, 4); i > 0; --i)
      law.rows.push_back(law.rows.back() + random.integer(1, 40));
    for (int64_t i = random.integer(0, 3); i > 0; --i)
      law.columns.push_back(law.columns.back() + random.integer(1, 90));
    for (size_t i = 0; i < law.rows.size() * law.columns.size(); ++i) {
      law.seconds.push_back(random.uniform(0.1, 3) *
                            double(law.rows[i / law.columns.size()] * law.columns[i % law.columns.size()]));
    }
    law.workspace_bytes.assign(law.seconds.size(), 0);
    make_monotone(law);
    const double least = law.least_seconds_per_position();
    for (int i = 0; i < 100; ++i) {
      const double rows = random.uniform(0.5, 3.0 * double(law.rows.back())),
                   columns = random.uniform(0.5, 3.0 * double(law.columns.back()));
      CAPTURE(round, rows, columns);
      CHECK(law.seconds_at(rows, columns) >= least * rows * columns * (1 - 1e-9));
      CHECK(law.seconds_at(rows, columns) >= law.least_seconds_per_row(columns) * rows * (1 - 1e-9));
      const double inside_columns = std::min(columns, double(law.columns.back()));
      CHECK(law.seconds_at(rows * 1.5, inside_columns) >= law.seconds_at(rows, inside_columns) * (1 - 1e-9));
    }
  }
}

TEST_CASE("calls that were disturbed are no longer than larger ones") {
  Law law = law_of({1, 8, 32}, {4, 64}, cost);
  law.seconds[2] = 1;
  make_monotone(law);
  CHECK(law.seconds[2] == std::min(law.seconds[3], law.seconds[4]));
  CHECK(law.seconds[3] == cost(8, 64));
  CHECK(law.seconds[0] == cost(1, 4));
}

TEST_CASE("workspace is that of the largest knot around") {
  const Law law = law_of({1, 8, 32, 64}, {4, 64}, cost);
  CHECK(law.workspace_at(1, 4) == 1000);
  CHECK(law.workspace_at(8, 50) == 1000);
  CHECK(law.workspace_at(9, 4) == 5000);
  CHECK(law.workspace_at(64, 64) == 5000);
  CHECK(law.workspace_at(640, 64) >= 5000);
  Law fixed = law_of({1, 8}, {4, 64}, cost);
  CHECK(fixed.workspace_at(1000, 1000) == 1000);
}

TEST_CASE("a law refuses to speak of what is far beyond what it saw, where cost was still changing") {
  const Law settled = law_of({1, 64, 128, 256}, {4, 256}, cost);
  const Law changing = law_of({1, 8, 32, 64}, {4, 256}, cost);
  const double seen = 64 * 256;
  CHECK(changing.speaks_of(4));
  CHECK(changing.speaks_of(seen));
  CHECK(changing.speaks_of(4 * seen));
  CHECK_FALSE(changing.speaks_of(4 * seen + 1));
  CHECK(settled.speaks_of(1e12));
  // A change within the law's own error is none.
  Law unsure = changing;
  unsure.held_out_error = 0.4;
  CHECK(unsure.speaks_of(1e12));
  const Law two_knots = law_of({1, 64}, {4, 256}, cost);
  CHECK_FALSE(two_knots.speaks_of(1e12));
}

}  // namespace
}  // namespace headroom
