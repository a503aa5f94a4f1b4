#include "reports/render/svg_axis.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headroom {
namespace {

constexpr size_t kMostTicks = 100;  // whatever the numbers are

std::string printed(double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.5g%s%s", value, *unit == '\0' ? "" : " ", unit);
  return text;
}

std::string bytes_label(double bytes) {
  static constexpr struct {
    double bytes;
    const char* name;
  } kUnits[] = {{1125899906842624.0, "PiB"},
                {1099511627776.0, "TiB"},
                {1073741824.0, "GiB"},
                {1048576.0, "MiB"},
                {1024.0, "KiB"}};
  for (const auto& unit : kUnits) {
    if (std::abs(bytes) >= unit.bytes) return printed(bytes / unit.bytes, unit.name);
  }
  return bytes == 0 ? "0" : printed(bytes, "B");
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
      return largest >= 1e6   ? AxisUnit{1e6, "Mpixel"}
             : largest >= 1e3 ? AxisUnit{1e3, "kpixel"}
                              : AxisUnit{1, "pixel"};
    case Unit::share:
      return {0.01, "%"};
    case Unit::ratio:
      return {1, "×"};
    case Unit::bytes:
    case Unit::none:
      break;
  }
  return {};
}

std::string label(Unit unit, double value, const AxisUnit& scaled) {
  if (unit == Unit::bytes) return bytes_label(value);
  if (unit == Unit::ratio) return printed(value, "") + "×";
  return value == 0 ? "0" : printed(value / scaled.size, scaled.name);
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
  // Counted in whole steps: sums of steps would drift, and small steps far from 0 would not move at all.
  const double first = std::ceil(range.least / step - 1e-9), last = std::floor(range.most / step + 1e-9);
  for (double i = first; i <= last && values.size() < kMostTicks; i += 1) values.push_back(i * step);
  return values;
}

/// Powers of two, all of them or every second, fifth or tenth: so 1 KiB, 1 MiB and 1 GiB are among them.
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

}  // namespace

Scale::Scale(Range range, bool logarithmic, double from, double to)
    : range_(range), logarithmic_(logarithmic), from_(from), to_(to) {}

double Scale::share(double value) const {
  if (!logarithmic_) return (value - range_.least) / (range_.most - range_.least);
  return value <= 0 ? 0 : std::log(value / range_.least) / std::log(range_.most / range_.least);
}

double Scale::position(double value) const {
  const double inside = share(std::clamp(value, range_.least, range_.most));
  return from_ + (to_ - from_) * (std::isfinite(inside) ? inside : 0);
}

std::vector<Tick> ticks(Unit unit, Range range, bool logarithmic, size_t most) {
  std::vector<double> values;
  if (logarithmic) values = unit == Unit::bytes ? powers_of_two(range, most) : decimals(range, most);
  if (values.size() < 2) values = linear_values(unit, range, most);
  std::vector<Tick> result;
  const AxisUnit scaled = axis_unit(unit, std::max(std::abs(range.least), std::abs(range.most)));
  for (const double value : values) result.push_back({value, label(unit, value, scaled)});
  return result;
}

}  // namespace headroom
