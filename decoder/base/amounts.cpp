#include "decoder/base/amounts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "decoder/base/errors.h"
#include "decoder/base/nearest.h"

namespace headroom {
namespace {

std::string printed(const char* format, double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, format, value, unit);
  return text;
}

}  // namespace

int64_t parse_bytes(const std::string& text, const std::string& option) {
  static const std::map<std::string, double> units{
      {"", 1},       {"b", 1},         {"kb", 1e3},         {"mb", 1e6},           {"gb", 1e9},
      {"tb", 1e12},  {"kib", 1024.0},  {"mib", 1048576.0},  {"gib", 1073741824.0}, {"tib", 1099511627776.0},
      {"k", 1024.0}, {"m", 1048576.0}, {"g", 1073741824.0}, {"t", 1099511627776.0}};
  size_t used = 0;
  double number = -1;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
  }
  while (used < text.size() && text[used] == ' ') ++used;
  const auto unit = units.find(lower_case(text.substr(std::min(used, text.size()))));
  const double bytes = unit == units.end() ? -1 : number * unit->second;
  if (!(number >= 0) || !(bytes >= 0) || bytes > 9e18) {
    throw InputError(option + ": expected bytes such as 2GiB, 512MiB or 1000000, found '" + text + "'");
  }
  // A number this small most likely lacks GiB. 1 requests the smallest limit that works.
  if (unit->first.empty() && number > 0 && number < kFewestSensibleBytes && number != 1) {
    const std::string written = text.substr(0, text.find(' '));
    throw InputError(option + " " + written + " is " + written + " bytes. Did you mean " + written + "GiB?");
  }
  return static_cast<int64_t>(std::llround(bytes));
}

std::string format_bytes(int64_t bytes) {
  const auto value = double(bytes);
  if (value < 1024.0 * 1024) return printed("%.1f %s", value / 1024, "KiB");
  if (value < 1024.0 * 1024 * 1024 * 2) return printed("%.1f %s", value / 1048576, "MiB");
  return printed("%.2f %s", value / 1073741824, "GiB");
}

std::string format_limit(int64_t bytes) {
  const auto value = double(bytes);
  if (value < 1024.0 * 1024) return printed("%.1f %s", std::ceil(value / 1024 * 10) / 10, "KiB");
  if (value < 1024.0 * 1024 * 1024 * 2)
    return printed("%.1f %s", std::ceil(value / 1048576 * 10) / 10, "MiB");
  return printed("%.2f %s", std::ceil(value / 1073741824 * 100) / 100, "GiB");
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
