#include "reports/figures/unit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "decoder/base/amounts.h"

namespace headroom::reports {
namespace {

/// "12.3 GFLOP": scales by powers of 1000.
std::string with_prefix(double value, const char* unit) {
  constexpr std::array kPrefixes{"", "k", "M", "G", "T", "P", "E"};
  size_t prefix = 0;
  // From 999.95, rounding to one digit would give 1000.0. The next prefix gives 1.0.
  while (prefix + 1 < kPrefixes.size() && value >= 999.95) {
    value /= 1000;
    ++prefix;
  }
  const bool exact = prefix == 0 && value == std::floor(value);
  return printed(exact ? "%.0f " : "%.1f ", value) + kPrefixes[prefix] + unit;
}

/// "4.2 MP" in megapixels, or "512 pixels" below 0.01 MP.
std::string pixels_text(double value) {
  if (value < 1e4) return printed(value == 1 ? "%.0f pixel" : "%.0f pixels", value);
  return printed(value < 0.9995e5 ? "%.3f MP" : value < 0.995e6 ? "%.2f MP" : "%.1f MP", value / 1e6);
}

std::string share_text(double value) {
  return printed(value == 0 || value >= 0.0995 ? "%.0f %%" : "%.1f %%", value * 100);
}

std::string ratio_text(double value) {
  return printed(value < 9.995 ? "%.2f×" : value < 99.95 ? "%.1f×" : "%.0f×", value);
}

std::string number_text(double value) {
  return printed(value == std::floor(value) && value < 1e15 ? "%.0f" : "%.6g", value);
}

std::string bytes_text(double value) {
  constexpr double kMost = 9.2e18;  // below 2^63
  return value < 1 ? "0 B" : format_bytes(std::llround(std::min(value, kMost)));
}

std::string amount_text(Unit unit, double value) {
  switch (unit) {
    case Unit::none:
      return number_text(value);
    case Unit::bytes:
      return bytes_text(value);
    case Unit::seconds:
      return value == 0 ? "0 s" : format_seconds(value);
    case Unit::flops:
      return with_prefix(value, "FLOP");
    case Unit::pixels:
      return pixels_text(value);
    case Unit::ratio:
      return ratio_text(value);
    case Unit::share:
      return share_text(value);
    case Unit::bytes_per_second:
      return bytes_text(value) + "/s";
  }
  return number_text(value);
}

const char* suffix_of(Unit unit) {
  switch (unit) {
    case Unit::none:
      return "";
    case Unit::bytes:
      return "bytes";
    case Unit::seconds:
      return "seconds";
    case Unit::flops:
      return "flops";
    case Unit::pixels:
      return "pixels";
    case Unit::ratio:
      return "ratio";
    case Unit::share:
      return "share";
    case Unit::bytes_per_second:
      return "bytes_per_second";
  }
  return "";
}

bool is_word(char c) {
  // Keeps letters of other scripts, whose bytes are all 0x80 or above.
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::string printed(const char* form, double value) {
  char text[64];
  std::snprintf(text, sizeof text, form, value);
  return text;
}

std::string counted(int64_t count, const std::string& one, const std::string& several) {
  return std::to_string(count) + " " + (count == 1 ? one : several);
}

std::string format(Unit unit, double value) {
  if (!std::isfinite(value)) return "";
  // Growth outside the pool is a difference and may be negative.
  return value < 0 ? "-" + amount_text(unit, -value) : amount_text(unit, value);
}

bool is_limit(int64_t bytes) {
  return bytes > 0 && bytes < int64_t{1} << 62;
}

std::string exact_text(double value) {
  if (!std::isfinite(value)) return "";
  char text[64];
  // Whole numbers are counts and bytes: 2000000, not 2e+06.
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  const std::to_chars_result end =
      whole ? std::to_chars(text, text + sizeof text, value, std::chars_format::fixed)
            : std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

std::string csv_name(const std::string& title, Unit unit) {
  constexpr const char* kTimes = "×";  // of sizes such as 512×512
  std::string name;
  for (size_t i = 0; i < title.size(); ++i) {
    char c = title[i];
    if (title.compare(i, 2, kTimes) == 0) {
      c = 'x';
      ++i;
    }
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (is_word(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  if (name.ends_with('_')) name.pop_back();
  const std::string suffix = suffix_of(unit);
  if (suffix.empty() || name == suffix || name.ends_with("_" + suffix)) return name;
  return name.empty() ? suffix : name + "_" + suffix;
}

}  // namespace headroom::reports
