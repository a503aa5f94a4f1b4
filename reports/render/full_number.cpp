#include "reports/render/full_number.h"

#include <charconv>
#include <cmath>

namespace headroom {

std::string full_number(double value) {
  if (!std::isfinite(value)) return "";
  char text[64];
  // Whole numbers, bytes above all, without an exponent.
  const bool whole = value == std::floor(value) && std::abs(value) < 1e18;
  const auto end = whole ? std::to_chars(text, text + sizeof text, static_cast<long long>(value))
                         : std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

}  // namespace headroom
