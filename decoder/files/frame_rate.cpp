#include "decoder/files/frame_rate.h"

#include <charconv>
#include <string_view>

#include "decoder/base/errors.h"
#include "decoder/base/printable.h"

namespace headroom {
namespace {

constexpr int64_t kMostTerm = 1'000'000;

/// Parses the whole text as an integer. Returns 0 if it is not one that a frame rate allows.
int64_t term(std::string_view text) {
  int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = failed == std::errc() && end == text.data() + text.size();
  return good && value >= 1 && value <= kMostTerm ? value : 0;
}

}  // namespace

FrameRate parse_frame_rate(const std::string& text, const std::string& option) {
  const std::string_view whole = text;
  const size_t slash = whole.find('/');
  const FrameRate rate{term(whole.substr(0, slash)),
                       slash == std::string_view::npos ? 1 : term(whole.substr(slash + 1))};
  if (rate.frames == 0 || rate.seconds == 0) {
    throw InputError(option + ": expected frames per second like 24 or 30000/1001, numbers from 1 to " +
                     std::to_string(kMostTerm) + ", found " + printable(text));
  }
  return rate;
}

}  // namespace headroom
