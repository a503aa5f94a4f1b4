#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::planner {

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
