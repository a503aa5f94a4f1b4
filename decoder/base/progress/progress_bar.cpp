#include "decoder/base/progress/progress_bar.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include "decoder/base/printable.h"

namespace headroom {

void ProgressBar::tell(const ProgressNews& news) {
  if (const auto* work = std::get_if<WorkDone>(&news)) {
    const int64_t left = std::llround(work->seconds_left);
    show(work->share, (left > 0 ? std::to_string(left) + " s left, " : "") + work->what);
  } else if (const auto* weights = std::get_if<WeightsLoaded>(&news)) {
    show(weights->share, "loading weights");
  } else if (const auto* decode = std::get_if<DecodeStarted>(&news)) {
    of_queue_ = true;
    what_ = decode->name;
  } else if (const auto* pass = std::get_if<PassStarted>(&news)) {
    if (!of_queue_) what_ = pass->name;
  } else if (const auto* tile = std::get_if<TileDone>(&news)) {
    show(tile->share, what_);
  } else if (const auto* steps = std::get_if<StepsDone>(&news)) {
    show(steps->share, what_);
  }
}

void ProgressBar::wipe() {
  if (shown_) stream_ << "\r\033[K" << std::flush;
  shown_ = false;
}

/// Redraws at most every 80 ms.
void ProgressBar::show(double share, const std::string& what) {
  const auto now = std::chrono::steady_clock::now();
  if (shown_ && now - last_ < std::chrono::milliseconds(80)) return;
  last_ = now;
  shown_ = true;
  constexpr int kWidth = 30;
  const int filled = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
  stream_ << "\r\033[K[" << std::string(static_cast<size_t>(filled), '#')
          << std::string(static_cast<size_t>(kWidth - filled), ' ') << "] " << static_cast<int>(share * 100)
          << " % " << printable(what).substr(0, 60) << std::flush;
}

}  // namespace headroom
