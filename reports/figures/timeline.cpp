#include "reports/figures/timeline.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <stdexcept>

namespace headroom::reports {
namespace {

constexpr size_t kBlock = 64;
constexpr size_t kNoMoment = SIZE_MAX;  ///< before the first moment, when the device is empty

/// A moment in a chart. It holds from `seconds` on.
struct Point {
  double seconds = 0;
  size_t moment = kNoMoment;
};

/// The moment that holds at `seconds`. `next` is the first moment at or after it.
size_t held_at(const Timeline& timeline, double seconds, size_t next) {
  if (next < timeline.size() && timeline.seconds(next) <= seconds) return next;
  return next == 0 ? kNoMoment : next - 1;
}

std::vector<Point> every_moment(const Timeline& timeline, double begin, size_t first, size_t last) {
  std::vector<Point> points{{begin, held_at(timeline, begin, first)}};
  for (size_t i = first; i < last; ++i) {
    if (i != points.front().moment) points.push_back({timeline.seconds(i), i});
  }
  return points;
}

/// The highest moment of each column, including the moment that holds at its start. Columns have equal time.
std::vector<Point> highest_of_columns(const Timeline& timeline, double begin, double end, size_t first,
                                      size_t last, size_t columns) {
  std::vector<Point> points;
  for (size_t column = 0; column < columns; ++column) {
    const auto edge = [&](size_t i) { return begin + (end - begin) * (double(i) / double(columns)); };
    const double at = edge(column);
    const size_t next = column + 1 == columns ? last : std::min(last, timeline.from(edge(column + 1)));
    const size_t held = held_at(timeline, at, first);
    const size_t from = held == kNoMoment ? first : std::min(held, first);
    const size_t shown = from < next ? timeline.highest(from, next) : held;
    if (points.empty() || points.back().moment != shown) points.push_back({at, shown});
    first = next;
  }
  return points;
}

/// Share of each column that these spans cover.
Strip waits_strip(const std::vector<Span>& waits, double begin, double end, size_t columns) {
  Strip strip{"waiting for other ranks", ColourRole::limit, {}, {}};
  if (!(begin < end)) return strip;
  const double width = (end - begin) / double(columns);
  size_t next = 0;
  for (size_t column = 0; column < columns; ++column) {
    const double left = begin + width * double(column), right = left + width;
    while (next < waits.size() && waits[next].end <= left) ++next;
    double waited = 0;
    for (size_t i = next; i < waits.size() && waits[i].begin < right; ++i)
      waited += std::min(right, waits[i].end) - std::max(left, waits[i].begin);
    strip.x.push_back(left);
    strip.share.push_back(std::clamp(waited / width, 0.0, 1.0));
  }
  strip.x.push_back(end);
  return strip;
}

int64_t bytes_at(const Timeline& timeline, size_t moment, MemoryKind kind) {
  return moment == kNoMoment ? 0 : timeline.use(moment)[static_cast<size_t>(kind)];
}

}  // namespace

int64_t total(const MemoryUse& use) {
  return std::accumulate(use.begin(), use.end(), int64_t{0});
}

Timeline::Timeline(TimelineData data) : data_(std::move(data)) {
  if (data_.seconds.empty() || data_.use.size() != data_.seconds.size())
    throw std::logic_error("a timeline has at least one moment, and the use of each");
  totals_.reserve(data_.use.size());
  for (const MemoryUse& moment : data_.use) {
    totals_.push_back(total(moment));
    for (size_t kind = 0; kind < kMemoryKinds; ++kind) has_[kind] = has_[kind] || moment[kind] != 0;
  }
  for (size_t count = size(), level = 0; count > kBlock; ++level) {
    std::vector<uint32_t> blocks;
    blocks.reserve(count / kBlock + 1);
    for (size_t begin = 0; begin < count; begin += kBlock) {
      size_t best = entry(level, begin);
      for (size_t i = begin + 1; i < std::min(begin + kBlock, count); ++i) {
        if (is_higher(entry(level, i), best)) best = entry(level, i);
      }
      blocks.push_back(static_cast<uint32_t>(best));
    }
    count = blocks.size();
    blocks_.push_back(std::move(blocks));
  }
}

std::vector<MemoryKind> Timeline::kinds() const {
  std::vector<MemoryKind> kinds;
  for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
    if (kind < kDecodeKinds || has_[kind]) kinds.push_back(static_cast<MemoryKind>(kind));
  }
  return kinds;
}

size_t Timeline::at(double seconds) const {
  const auto after = std::upper_bound(data_.seconds.begin(), data_.seconds.end(), seconds);
  return after == data_.seconds.begin() ? 0 : static_cast<size_t>(after - data_.seconds.begin()) - 1;
}

size_t Timeline::from(double seconds) const {
  return static_cast<size_t>(std::lower_bound(data_.seconds.begin(), data_.seconds.end(), seconds) -
                             data_.seconds.begin());
}

bool Timeline::is_higher(size_t a, size_t b) const {
  constexpr auto kSlack = static_cast<size_t>(MemoryKind::slack);
  if (totals_[a] != totals_[b]) return totals_[a] > totals_[b];
  return data_.use[a][kSlack] != data_.use[b][kSlack] ? data_.use[a][kSlack] < data_.use[b][kSlack] : a < b;
}

size_t Timeline::highest(size_t begin, size_t end) const {
  size_t best = begin;
  for (size_t level = 0; begin < end; ++level) {
    const auto look = [&](size_t i) {
      if (is_higher(entry(level, i), best)) best = entry(level, i);
    };
    // Scans the ends that whole blocks do not cover. The topmost level is scanned completely.
    const bool topmost = level == blocks_.size();
    while (begin < end && (topmost || begin % kBlock != 0)) look(begin++);
    while (begin < end && end % kBlock != 0) look(--end);
    begin /= kBlock;
    end /= kBlock;
  }
  return best;
}

Chart timeline_chart(const Timeline& timeline, const std::string& title, double begin_seconds,
                     double end_seconds, size_t columns) {
  Chart chart;
  chart.title = title;
  chart.x = {"time", Unit::seconds};
  chart.y = {"memory", Unit::bytes};
  const double end = std::min(end_seconds, timeline.end_seconds());
  std::vector<Point> points;
  if (begin_seconds <= end && columns > 0) {
    const size_t first = timeline.from(begin_seconds),
                 last = end < timeline.seconds(0) ? 0 : timeline.at(end) + 1;
    points = last < first + columns ? every_moment(timeline, begin_seconds, first, last)
                                    : highest_of_columns(timeline, begin_seconds, end, first, last, columns);
    points.push_back({end, points.back().moment});
  }
  for (const MemoryKind kind : timeline.kinds()) {
    Series series{title_of(kind), Mark::area, colour_role_of(kind), {}, {}};
    for (const Point& point : points) {
      series.x.push_back(point.seconds);
      series.y.push_back(double(bytes_at(timeline, point.moment, kind)));
    }
    chart.series.push_back(std::move(series));
  }
  if (!timeline.driver().empty())
    chart.series.push_back(driver_series(timeline.driver(), begin_seconds, end, columns));
  if (is_limit(timeline.limit_bytes())) {
    const auto limit = double(timeline.limit_bytes());
    // A GPU's limit covers the reservation only, not the libraries and the context drawn above it.
    const bool more = timeline.has(MemoryKind::libraries) || timeline.has(MemoryKind::context);
    chart.guides.push_back({(more ? "limit of the reservation " : "limit ") + format(Unit::bytes, limit),
                            limit, false, ColourRole::limit});
  }
  const size_t peak = timeline.peak();
  if (timeline.seconds(peak) >= begin_seconds && timeline.seconds(peak) <= end_seconds) {
    const auto bytes = double(timeline.total_bytes(peak));
    chart.notes.push_back({timeline.seconds(peak), bytes, "peak " + format(Unit::bytes, bytes)});
  }
  if (!timeline.waits().empty())
    chart.strip = waits_strip(timeline.waits(), begin_seconds, end, std::max<size_t>(1, columns));
  for (const Span& pass : timeline.passes()) {
    const Span shown{std::max(pass.begin, begin_seconds), std::min(pass.end, end_seconds), pass.name};
    if (shown.begin <= shown.end) chart.spans.push_back(shown);
  }
  return chart;
}

Table live_table(const std::vector<LiveEntry>& entries, const std::string& title) {
  Table table;
  table.title = title;
  table.columns = {{.title = "name", .is_text = true},
                   {.title = "kind", .is_text = true},
                   {.title = "memory", .unit = Unit::bytes, .bars = true},
                   {.title = "share",
                    .unit = Unit::share,
                    .explanation = "Share of the device memory in use at that moment."}};
  double all = 0;
  for (const LiveEntry& entry : entries) all += double(entry.bytes);
  for (const LiveEntry& entry : entries) {
    const auto bytes = double(entry.bytes);
    table.rows.push_back({{entry.name, std::string(title_of(entry.kind)), bytes, bytes / all}, false});
  }
  return table;
}

Table live_table(const Timeline& timeline, size_t i) {
  return live_table(timeline.live_set(i), "on the device at " + format(Unit::seconds, timeline.seconds(i)));
}

MemoryUse use_of(const LiveBytes& live, const DeviceRecord& device) {
  MemoryUse use{live.resident_weights + live.pass_weights, live.latent + live.state, live.kept,
                live.step.tiles + live.step.carried, live.step.workspace};
  const LiveEntry reserve = planner::reserve_entry(live.reserve, device);
  use[static_cast<size_t>(reserve.kind)] += reserve.bytes;
  use[static_cast<size_t>(MemoryKind::outside)] += live.picture;
  return use;
}

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
