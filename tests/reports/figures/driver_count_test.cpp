#include "reports/figures/driver_count.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/support/random.h"

namespace headroom::reports {
namespace {

using test::Random;

Timeline timeline_of(std::vector<std::pair<double, int64_t>> moments, std::vector<DriverSample> driver) {
  std::vector<double> seconds;
  std::vector<MemoryUse> use;
  for (const auto& [at, bytes] : moments) {
    seconds.push_back(at);
    use.push_back({bytes});
  }
  return TimelineData{seconds, use, 100, 0, {}, {}, std::move(driver)};
}

void check(const std::optional<DriverDifference>& found, double seconds, int64_t driver, int64_t counted) {
  REQUIRE(found);
  CHECK(found->seconds == seconds);
  CHECK(found->driver_bytes == driver);
  CHECK(found->counted_bytes == counted);
}

TEST_CASE("the driver's count: the largest difference, above or below") {
  CHECK_FALSE(largest_difference(timeline_of({{0, 5}}, {})));
  check(largest_difference(timeline_of({{1, 100}}, {{0.5, 30}, {2, 110}})), 0.5, 30, 0);
  check(largest_difference(timeline_of({{0, 100}, {2, 300}}, {{1, 150}, {3, 200}, {4, 310}})), 3, 200, 300);
  // The first of equal ones.
  check(largest_difference(timeline_of({{0, 100}}, {{1, 90}, {2, 110}})), 1, 90, 100);
  // At one time any moment may be what the driver saw, the one before too, but nothing between them.
  const std::vector<std::pair<double, int64_t>> same{{0, 100}, {1, 500}, {1, 200}, {1, 400}};
  for (const int64_t bytes : {100, 200, 400, 500})
    check(largest_difference(timeline_of(same, {{1, bytes}})), 1, bytes, bytes);
  check(largest_difference(timeline_of(same, {{1, 290}})), 1, 290, 200);
  check(largest_difference(timeline_of(same, {{1, 600}})), 1, 600, 500);
  check(largest_difference(timeline_of(same, {{1.5, 100}})), 1.5, 100, 400);
  check(largest_difference(timeline_of(same, {{1, 500}, {1, -10}, {2, 400}})), 1, -10, 100);
}

TEST_CASE("the driver's count: very many samples and moments of one time take no longer for it") {
  constexpr size_t kMany = 400'000;
  std::vector<std::pair<double, int64_t>> moments(kMany, {1, 5});
  check(largest_difference(timeline_of(moments, std::vector<DriverSample>(kMany, {1, 7}))), 1, 7, 5);
}

TEST_CASE("the driver's count is drawn with its highest of every column, and what holds between") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<DriverSample> driver;
    double at = random.uniform(0, 1);
    for (int64_t i = random.integer(1, 300); i > 0; --i) {
      driver.push_back({at, random.integer(0, 1000)});
      if (random.chance(0.8)) at += random.uniform(0, 0.1);
    }
    const double begin = random.uniform(-0.5, at), end = random.uniform(begin, at + 0.5);
    const auto columns = static_cast<size_t>(random.integer(1, 100));
    const Series series = driver_series(driver, begin, end, columns);
    REQUIRE(series.x.size() == series.y.size());
    CHECK(series.x.size() <= 2 * columns + 2);
    CHECK(std::is_sorted(series.x.begin(), series.x.end()));
    std::vector<int64_t> seen;
    for (const DriverSample& sample : driver) {
      if (sample.seconds <= begin) seen = {sample.bytes};  // holds until the next
      if (sample.seconds > begin && sample.seconds <= end) seen.push_back(sample.bytes);
    }
    if (seen.empty()) {
      CHECK(series.x.empty());
      continue;
    }
    REQUIRE_FALSE(series.x.empty());
    CHECK(series.x.front() >= begin);
    CHECK(series.x.back() == end);
    CHECK(series.y.back() == double(seen.back()));
    CHECK(*std::max_element(series.y.begin(), series.y.end()) ==
          double(*std::max_element(seen.begin(), seen.end())));
    for (const double y : series.y)
      CHECK(std::find(seen.begin(), seen.end(), static_cast<int64_t>(y)) != seen.end());
  }
  // With enough columns every sample is there, at its time.
  CHECK(driver_series({{1, 5}, {2, 9}, {2.5, 3}}, 0, 4, 100).x == std::vector<double>{1, 2, 2.5, 4});
  CHECK(driver_series({{1, 5}, {2, 9}, {2.5, 3}}, 0, 4, 100).y == std::vector<double>{5, 9, 3, 3});
  CHECK(driver_series({{0, 1}}, 2, 1, 10).x.empty());
  CHECK(driver_series({{0, 1}}, 0, 1, 0).x.empty());
}

}  // namespace
}  // namespace headroom::reports
