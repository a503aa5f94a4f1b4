#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "decoder/base/axes.h"

// Helpers for texts on plans.

namespace headroom::planner {

inline std::string counted(int64_t number, const char* noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

inline std::string gflops_text(double flops) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GFLOP", flops / 1e9);
  return text;
}

/// "3" or "3..5": both ends belong to the range.
inline std::string range_text(const Interval& numbers) {
  const std::string begin = std::to_string(numbers.begin);
  return numbers.length() == 1 ? begin : begin + ".." + std::to_string(numbers.end - 1);
}

inline std::string left_aligned(const std::string& text, size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

inline std::string right_aligned(const std::string& text, size_t width) {
  return std::string(text.size() < width ? width - text.size() : 0, ' ') + text;
}

inline std::string joined(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

inline size_t widest(const std::vector<std::string>& texts) {
  size_t width = 0;
  for (const std::string& text : texts) width = std::max(width, text.size());
  return width;
}

/// Formats all byte counts of one text in the same unit, with at most two decimals. The parts of a sum are
/// rounded so that they add up to the rounded sum.
class RoundedAmounts {
 public:
  /// Chooses the unit for amounts up to `largest`.
  explicit RoundedAmounts(int64_t largest);
  const char* unit() const { return unit_; }
  std::string text(int64_t bytes) const { return digits(rounded(bytes)); }
  /// The parts, and their sum at the end.
  std::vector<std::string> sum(const std::vector<int64_t>& parts) const;

 private:
  int64_t rounded(int64_t bytes) const;
  std::string digits(int64_t rounded) const;

  const char* unit_;
  int64_t unit_bytes_;
};

}  // namespace headroom::planner
