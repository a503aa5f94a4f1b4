#include "reports/figures/ticks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

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

}  // namespace headroom::reports
