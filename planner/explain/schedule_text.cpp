#include "planner/explain/schedule_text.h"

#include <cmath>
#include <cstdio>

#include "decoder/base/amounts.h"

namespace headroom::planner {
namespace {

constexpr int64_t kFewestUnits = 10;  ///< of the largest amount

}  // namespace

RoundedAmounts::RoundedAmounts(int64_t largest) : unit_("MiB"), unit_bytes_(kMiB) {
  if (largest < kFewestUnits * kMiB) unit_ = "KiB", unit_bytes_ = kKiB;
  if (largest < kFewestUnits * kKiB) unit_ = "bytes", unit_bytes_ = 1;
}

std::vector<std::string> RoundedAmounts::sum(const std::vector<int64_t>& parts) const {
  std::vector<std::string> texts;
  int64_t so_far = 0;
  for (const int64_t part : parts) {
    texts.push_back(digits(rounded(so_far + part) - rounded(so_far)));
    so_far += part;
  }
  texts.push_back(text(so_far));
  return texts;
}

int64_t RoundedAmounts::rounded(int64_t bytes) const {
  return unit_bytes_ == 1 ? bytes : std::llround(100.0 * double(bytes) / double(unit_bytes_));
}

std::string RoundedAmounts::digits(int64_t rounded) const {
  if (unit_bytes_ == 1) return std::to_string(rounded);
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", double(rounded) / 100);
  return text;
}

}  // namespace headroom::planner
