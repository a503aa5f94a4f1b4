#include "reports/figures/chart.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace headroom::reports {
namespace {

/// Bound on drawn values, so that their sums and products stay finite.
constexpr double kMost = 1e60;
constexpr double kEdge = std::numeric_limits<double>::infinity();

/// Smallest and largest of the added values.
struct Extremes {
  double least = kEdge, most = -kEdge;
  bool empty() const { return least > most; }
  void add(const ChartAxis& axis, double value) {
    if (!can_be_drawn(axis, value)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

/// Includes guides unless they would make the series too small to read.
void add_guides(const Chart& chart, bool vertical, const ChartAxis& axis, Extremes& extremes) {
  const double reach = axis.logarithmic ? 30 : 2.5;
  const Extremes series = extremes;
  for (const Guide& guide : chart.guides) {
    if (guide.vertical != vertical) continue;
    const bool near =
        guide.at <= series.most * reach && (!axis.logarithmic || guide.at >= series.least / reach);
    if (series.empty() || near || guide.always_in_sight) extremes.add(axis, guide.at);
  }
}

/// A non-empty range with margins below and above, as fractions of its length.
Range with_room(const ChartAxis& axis, const Extremes& extremes, double below, double above) {
  if (extremes.empty()) return axis.logarithmic ? Range{1, 10} : Range{0, 1};
  double least = extremes.least, most = extremes.most;
  if (axis.logarithmic) {
    if (most / least < 1.2) least /= 1.5, most *= 1.5;
    const double length = std::log(most / least);
    return {least / std::exp(below * length), most * std::exp(above * length)};
  }
  if (!(most - least > 1e-9 * std::abs(most))) {
    const double around = most == 0 ? 1 : std::abs(most) / 2;
    if (least != 0 || below > 0) least -= around;
    most += around;
  }
  return {least - below * (most - least), most + above * (most - least)};
}

}  // namespace

bool can_be_drawn(const ChartAxis& axis, double value) {
  return std::abs(value) <= kMost && (!axis.logarithmic || value >= 1 / kMost);
}

Stack stacked_areas(const Chart& chart) {
  Stack stack;
  for (const Series& series : chart.series) {
    if (series.mark != Mark::area) continue;
    std::copy_if(series.x.begin(), series.x.end(), std::back_inserter(stack.x),
                 [&](double x) { return can_be_drawn(chart.x, x); });
  }
  std::sort(stack.x.begin(), stack.x.end());
  stack.x.erase(std::unique(stack.x.begin(), stack.x.end()), stack.x.end());
  std::vector<double> below(stack.x.size(), 0.0);
  for (const Series& series : chart.series) {
    if (series.mark != Mark::area) continue;
    const size_t points = std::min(series.x.size(), series.y.size());
    size_t next = 0;
    double held = 0;
    for (size_t i = 0; i < stack.x.size(); ++i) {
      for (; next < points && series.x[next] <= stack.x[i]; ++next) held = series.y[next];
      below[i] += std::abs(held) <= kMost ? held : 0;
    }
    stack.tops.push_back(below);
  }
  return stack;
}

ChartRanges ranges_of(const Chart& chart) {
  Extremes x, y;
  bool whole_width = !chart.spans.empty();
  for (const Series& series : chart.series) {
    whole_width = whole_width || series.mark == Mark::area;
    for (const double value : series.x) x.add(chart.x, value);
    if (series.mark == Mark::area) continue;
    for (const double value : series.y) y.add(chart.y, value);
  }
  for (const std::vector<double>& tops : stacked_areas(chart).tops) {
    for (const double value : tops) y.add(chart.y, value);
  }
  for (const Span& span : chart.spans) {
    x.add(chart.x, span.begin);
    x.add(chart.x, span.end);
  }
  for (const Note& note : chart.notes) {
    x.add(chart.x, note.x);
    y.add(chart.y, note.y);
  }
  add_guides(chart, true, chart.x, x);
  add_guides(chart, false, chart.y, y);
  if (!chart.y.logarithmic) y.add(chart.y, 0);  // heights mean something only above 0
  const double beside = whole_width ? 0 : 0.04;
  const bool from_zero = !chart.y.logarithmic && y.least == 0;
  return {with_room(chart.x, x, beside, beside),
          with_room(chart.y, y, from_zero ? 0 : 0.06, chart.spans.empty() ? 0.08 : 0.14)};
}

ChartRanges united(const ChartRanges& a, const ChartRanges& b) {
  return {{std::min(a.x.least, b.x.least), std::max(a.x.most, b.x.most)},
          {std::min(a.y.least, b.y.least), std::max(a.y.most, b.y.most)}};
}

}  // namespace headroom::reports
