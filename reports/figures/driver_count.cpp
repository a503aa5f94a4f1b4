#include "reports/figures/driver_count.h"

#include <algorithm>
#include <cstdlib>

namespace headroom::reports {
namespace {

int64_t apart(const DriverDifference& found) {
  return std::abs(found.driver_bytes - found.counted_bytes);
}

/// The total closest to `bytes`. `totals` is ascending and not empty.
int64_t closest(const std::vector<int64_t>& totals, int64_t bytes) {
  const auto above = std::lower_bound(totals.begin(), totals.end(), bytes);
  if (above == totals.begin()) return *above;
  const int64_t below = *std::prev(above);
  return above != totals.end() && *above - bytes < bytes - below ? *above : below;
}

}  // namespace

std::optional<DriverDifference> largest_difference(const Timeline& timeline) {
  std::optional<DriverDifference> largest;
  const std::vector<DriverSample>& driver = timeline.driver();
  for (size_t i = 0; i < driver.size();) {
    // The driver may have seen any moment at this time, or the one before it.
    const double seconds = driver[i].seconds;
    const size_t next = timeline.from(seconds);
    std::vector<int64_t> totals{next == 0 ? 0 : timeline.total_bytes(next - 1)};
    for (size_t k = next; k < timeline.size() && timeline.seconds(k) == seconds; ++k)
      totals.push_back(timeline.total_bytes(k));
    std::sort(totals.begin(), totals.end());
    for (; i < driver.size() && driver[i].seconds == seconds; ++i) {
      const DriverDifference found{seconds, driver[i].bytes, closest(totals, driver[i].bytes)};
      if (!largest || apart(found) > apart(*largest)) largest = found;
    }
  }
  return largest;
}

Series driver_series(const std::vector<DriverSample>& driver, double begin_seconds, double end_seconds,
                     size_t columns) {
  Series series{"counted by the driver", Mark::steps, ColourRole::driver, {}, {}};
  if (!(begin_seconds <= end_seconds) || columns == 0) return series;
  const auto put = [&](double seconds, int64_t bytes) {
    series.x.push_back(seconds);
    series.y.push_back(double(bytes));
  };
  const auto later = [](double seconds, const DriverSample& sample) { return seconds < sample.seconds; };
  auto sample = std::upper_bound(driver.begin(), driver.end(), begin_seconds, later);
  if (sample != driver.begin()) put(begin_seconds, std::prev(sample)->bytes);
  for (size_t column = 1; column <= columns; ++column) {
    const double edge = begin_seconds + (end_seconds - begin_seconds) * (double(column) / double(columns));
    const auto end = std::upper_bound(sample, driver.end(), column == columns ? end_seconds : edge, later);
    if (sample == end) continue;
    const auto highest =
        std::max_element(sample, end, [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    put(highest->seconds, highest->bytes);
    if (highest != std::prev(end)) put(std::prev(end)->seconds, std::prev(end)->bytes);
    sample = end;
  }
  if (!series.x.empty()) put(end_seconds, int64_t(series.y.back()));
  return series;
}

}  // namespace headroom::reports
