#include "reports/figures/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <limits>

#include "decoder/base/amounts.h"

namespace headroom::reports {
namespace {

constexpr size_t kMostTicks = 100;  // bound for extreme ranges

/// A label with `digits` significant digits, enough to differ from its neighbours.
std::string with_digits(double value, int digits, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g%s%s", digits, value, *unit == '\0' ? "" : " ", unit);
  return text;
}

constexpr int kFewestDigits = 5;

/// Digits needed to tell the largest value from its neighbour.
int digits_for(double largest, double step) {
  constexpr int kMost = 15;
  return std::clamp(static_cast<int>(std::log10(largest / step)) + 3, kFewestDigits, kMost);
}

int digits_for(const std::vector<double>& values) {
  if (values.size() < 2) return kFewestDigits;
  return digits_for(std::max(std::abs(values.front()), std::abs(values.back())), values[1] - values[0]);
}

std::string bytes_label(double bytes, int digits) {
  for (const ByteUnit& unit : kByteUnits) {
    const auto size = static_cast<double>(unit.bytes);
    if (std::abs(bytes) >= size) return with_digits(bytes / size, digits, unit.name);
  }
  return bytes == 0 ? "0" : with_digits(bytes, digits, "B");
}

/// One unit for the whole axis, so that its labels can be compared at a glance.
struct AxisUnit {
  double size = 1;
  const char* name = "";
};

AxisUnit axis_unit(Unit unit, double largest) {
  switch (unit) {
    case Unit::seconds:
      return largest >= 1 ? AxisUnit{1, "s"} : largest >= 1e-3 ? AxisUnit{1e-3, "ms"} : AxisUnit{1e-6, "µs"};
    case Unit::flops:
      return largest >= 1e12  ? AxisUnit{1e12, "TFLOP"}
             : largest >= 1e9 ? AxisUnit{1e9, "GFLOP"}
                              : AxisUnit{1e6, "MFLOP"};
    case Unit::pixels:
      return largest >= 1e4 ? AxisUnit{1e6, "MP"} : AxisUnit{1, "pixels"};
    case Unit::share:
      return {0.01, "%"};
    case Unit::ratio:
      return {1, "×"};
    case Unit::bytes:
    case Unit::bytes_per_second:  // appears only in tables
    case Unit::none:
      break;
  }
  return {};
}

std::string label(Unit unit, double value, int digits, const AxisUnit& scaled) {
  if (unit == Unit::bytes) return bytes_label(value, digits);
  if (unit == Unit::ratio) return with_digits(value, digits, "") + "×";
  return value == 0 ? "0" : with_digits(value / scaled.size, digits, scaled.name);
}

double power_of_two_from(double value) {
  return std::exp2(std::ceil(std::log2(std::max(value, 1.0)) - 1e-9));
}

/// 1, 2 or 5 times a power of ten, not below `value`.
double round_decimal_from(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> linear_values(Unit unit, Range range, size_t most) {
  const double wanted = (range.most - range.least) / double(std::max<size_t>(most, 1));
  const double step = unit == Unit::bytes ? power_of_two_from(wanted) : round_decimal_from(wanted);
  std::vector<double> values;
  if (!(step > 0) || !std::isfinite(step)) return values;
  // Multiplies whole steps. Repeated addition would drift, and small steps far from 0 would change nothing.
  const double first = std::ceil(range.least / step - 1e-9), last = std::floor(range.most / step + 1e-9);
  for (double i = first; i <= last && values.size() < kMostTicks; i += 1) values.push_back(i * step);
  return values;
}

/// Powers of two: all of them, or every second, fifth or tenth. This includes 1 KiB, 1 MiB and 1 GiB.
std::vector<double> powers_of_two(Range range, size_t most) {
  const double least = std::log2(range.least), largest = std::log2(range.most);
  double stride = 1;
  for (const double wider : {2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0}) {
    if ((largest - least) / stride <= double(most)) break;
    stride = wider;
  }
  std::vector<double> values;
  for (double k = std::ceil(least / stride - 1e-9) * stride;
       k <= largest + 1e-9 && values.size() < kMostTicks; k += stride) {
    values.push_back(std::exp2(k));
  }
  return values;
}

std::vector<double> decimals(Range range, size_t most) {
  const double least = std::floor(std::log10(range.least)), largest = std::ceil(std::log10(range.most));
  const double decades = std::log10(range.most / range.least);
  const bool parts = 3 * decades <= double(most) + 1;
  const double stride = parts ? 1 : std::max(1.0, std::ceil(decades / double(std::max<size_t>(most, 1))));
  std::vector<double> values;
  for (double k = least; k <= largest && values.size() < kMostTicks; k += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, k);
      const bool inside = value >= range.least * (1 - 1e-9) && value <= range.most * (1 + 1e-9);
      if (inside && (parts || factor == 1)) values.push_back(value);
    }
  }
  return values;
}

/// The pixels of squares of 64, 128, 256 … a side: a picture of twice the side has four times the pixels.
std::vector<double> squares(Range range) {
  std::vector<double> values;
  for (double side = 64; side * side <= range.most * (1 + 1e-9) && values.size() < kMostTicks; side *= 2) {
    if (side * side >= range.least * (1 - 1e-9)) values.push_back(side * side);
  }
  return values;
}

std::string square_label(double pixels) {
  const std::string side = with_digits(std::sqrt(pixels), 15, "");
  return side + "×" + side;
}

}  // namespace

std::vector<Tick> ticks(Unit unit, Range range, bool logarithmic, size_t most) {
  std::vector<Tick> result;
  if (logarithmic && unit == Unit::pixels) {
    const std::vector<double> found = squares(range);
    const size_t stride = found.size() / (most + 1) + 1;
    for (size_t i = 0; i < found.size(); i += stride) result.push_back({found[i], square_label(found[i])});
    if (result.size() > 1) return result;
    result.clear();
  }
  std::vector<double> values;
  if (logarithmic) values = unit == Unit::bytes ? powers_of_two(range, most) : decimals(range, most);
  if (values.size() < 2) values = linear_values(unit, range, most);
  const AxisUnit scaled = axis_unit(unit, std::max(std::abs(range.least), std::abs(range.most)));
  const int digits = digits_for(values);
  for (const double value : values) result.push_back({value, label(unit, value, digits, scaled)});
  return result;
}

std::string fine_label(Unit unit, double value, double step) {
  return label(unit, value, digits_for(std::abs(value), step), axis_unit(unit, std::abs(value)));
}

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
