#include "decoder/cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>

namespace headroom {

Progress::Progress(std::ostream& stream, bool quiet)
    : stream_(stream), shown_(!quiet && &stream == &std::cerr && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) stream_ << "\r\033[K" << std::flush;
}

void Progress::show(double share, const std::string& what) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < std::chrono::milliseconds(80) && share < 1) return;
  last_ = now;
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
  stream_ << "\r\033[K[" << std::string(static_cast<size_t>(filled), '#')
          << std::string(static_cast<size_t>(kWidth - filled), ' ') << "] " << static_cast<int>(share * 100)
          << " % " << what.substr(0, 60) << std::flush;
}

}  // namespace headroom
