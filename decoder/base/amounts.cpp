#include "decoder/base/amounts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

std::string printed(const char* format, double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, format, value, unit);
  return text;
}

/// Bytes in one unit, in lower case: "kib" and "k" are 1024, "kb" is 1000, "b" and "" are 1.
std::optional<double> bytes_in(const std::string& unit) {
  if (unit.empty() || unit == "b") return 1;
  double decimal = 1e15;
  for (const auto& [name, bytes] : kByteUnits) {
    const std::string binary = lower_case(name), letter = binary.substr(0, 1);
    if (unit == binary || unit == letter) return static_cast<double>(bytes);
    if (unit == letter + "b") return decimal;
    decimal /= 1000;
  }
  return std::nullopt;
}

/// "313.0 MiB", from 2 GiB on with two digits.
std::string bytes_text(int64_t bytes, bool rounds_up) {
  const bool large = bytes >= 2 * kGiB;
  const ByteUnit unit = kByteUnits[large ? 2 : bytes >= kMiB ? 3 : 4];
  double value = static_cast<double>(bytes) / static_cast<double>(unit.bytes);
  const double parts = large ? 100 : 10;
  if (rounds_up) value = std::ceil(value * parts) / parts;
  return printed(large ? "%.2f %s" : "%.1f %s", value, unit.name);
}

}  // namespace

int64_t parse_bytes(const std::string& text, const std::string& option) {
  size_t used = 0;
  double number = -1;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
  }
  while (used < text.size() && text[used] == ' ') ++used;
  const std::string unit = lower_case(text.substr(std::min(used, text.size())));
  const double bytes = number * bytes_in(unit).value_or(-1);
  if (!(number >= 0) || !(bytes >= 0) || bytes > 9e18) {
    throw InputError(option + ": expected bytes such as 2GiB, 512MiB or 1000000, found '" + text + "'");
  }
  // A number this small most likely lacks GiB. 1 requests the smallest limit that works.
  if (unit.empty() && number > 0 && number < kFewestSensibleBytes && number != 1) {
    const std::string written = text.substr(0, text.find(' '));
    throw InputError(option + " " + written + " is " + written + " bytes. Did you mean " + written + "GiB?");
  }
  return static_cast<int64_t>(std::llround(bytes));
}

double parse_share(const std::string& text, const std::string& option) {
  double percent = -1;
  char sign = 0;
  const int read = std::sscanf(text.c_str(), "%lf%c", &percent, &sign);
  const bool whole = read == 2 && sign == '%' && text.back() == '%' && text.find('%') == text.size() - 1;
  if (!(percent >= 0 && percent <= 100) || !(whole || (read == 1 && percent == 0)))
    throw InputError(option + ": expected a share from 0 to 100% such as 5%, found '" + text + "'");
  return percent / 100;
}

std::string format_bytes(int64_t bytes) {
  return bytes_text(bytes, false);
}

std::string format_limit(int64_t bytes) {
  return bytes_text(bytes, true);
}

std::string format_seconds(double seconds) {
  constexpr double kHour = 3600, kDay = 24 * kHour, kYear = 365.25 * kDay;
  if (seconds >= 3 * kYear) return printed("%.0f %s", seconds / kYear, "years");
  if (seconds >= 2 * kDay) return printed("%.0f %s", seconds / kDay, "days");
  if (seconds >= 3 * kHour) return printed("%.1f %s", seconds / kHour, "hours");
  if (seconds != 0 && std::abs(seconds) < 1e-3) return printed("%.1f %s", seconds * 1e6, "µs");
  return seconds < 1 ? printed("%.1f %s", seconds * 1e3, "ms") : printed("%.2f %s", seconds, "s");
}

std::pair<int64_t, int64_t> parse_size(const std::string& text, const std::string& option) {
  int64_t width = 0, height = 0;
  int used = 0;
  const bool fits = text.size() < 24 &&
                    std::sscanf(text.c_str(), "%9ldx%9ld%n", &width, &height, &used) == 2 &&
                    used == static_cast<int>(text.size());
  if (!fits || width < 1 || height < 1) {
    throw InputError(option + ": expected WIDTHxHEIGHT in pixels such as 1024x768, found '" + text + "'");
  }
  return {width, height};
}

std::vector<std::pair<int64_t, int64_t>> parse_sizes(const std::string& text, const std::string& option) {
  std::vector<std::pair<int64_t, int64_t>> sizes;
  size_t begin = 0;
  while (begin <= text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    sizes.push_back(parse_size(text.substr(begin, end - begin), option));
    begin = end + 1;
  }
  return sizes;
}

}  // namespace headroom
