#include "decoder/graph/amounts.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "decoder/graph/errors.h"

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
      {"", 1},       {"B", 1},         {"KB", 1e3},         {"MB", 1e6},           {"GB", 1e9},
      {"TB", 1e12},  {"KiB", 1024.0},  {"MiB", 1048576.0},  {"GiB", 1073741824.0}, {"TiB", 1099511627776.0},
      {"K", 1024.0}, {"M", 1048576.0}, {"G", 1073741824.0}, {"T", 1099511627776.0}};
  size_t used = 0;
  double number = -1;
  try {
    number = std::stod(text, &used);
  } catch (const std::exception&) {
  }
  while (used < text.size() && text[used] == ' ') ++used;
  const auto unit = units.find(text.substr(std::min(used, text.size())));
  const double bytes = unit == units.end() ? -1 : number * unit->second;
  if (!(number >= 0) || !(bytes >= 0) || bytes > 9e18) {
    throw InputError(option + ": expected bytes such as 2GiB, 512MiB or 1000000, found '" + text + "'");
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
