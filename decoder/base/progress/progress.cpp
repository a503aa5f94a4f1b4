#include "decoder/base/progress/progress.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <utility>
#include <variant>

#include "decoder/base/os/standard_streams.h"
#include "decoder/base/text.h"

namespace headroom {
namespace {

class NoProgress final : public Progress {
  void tell(const ProgressNews&) override {}
};

}  // namespace

std::unique_ptr<Progress> make_progress(const ProgressOptions& options, std::ostream& stream) {
  const bool standard_error = &stream == &std::cerr;
  const bool terminal = standard_error && is_terminal(kStandardError);
  if (options.quiet) return std::make_unique<NoProgress>();
  if (options.style == "lines") {
    const auto start = std::chrono::steady_clock::now();
    const auto clock = [start] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    return std::make_unique<ProgressWriter>(stream, clock, standard_error ? kStandardError : -1);
  }
  if (options.style == "bar" || (options.style == "auto" && terminal))
    return std::make_unique<ProgressBar>(stream);
  return std::make_unique<NoProgress>();
}

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

namespace {

constexpr double kLinesAtOnce = 10;
constexpr double kLinesPerSecond = 40;
/// Lines reserved for rare events, which should not wait, such as the start of a pass after many fast tiles.
constexpr double kLinesHeldBack = 4;

/// True if a later event of the same kind may replace a waiting one.
bool replaceable(const ProgressNews& news) {
  return !std::holds_alternative<RunBegun>(news) && !std::holds_alternative<VerificationStarted>(news) &&
         !std::holds_alternative<RunEnded>(news);
}

bool frequent(const ProgressNews& news) {
  return std::holds_alternative<WorkDone>(news) || std::holds_alternative<WeightsLoaded>(news) ||
         std::holds_alternative<TileDone>(news) || std::holds_alternative<StepsDone>(news) ||
         std::holds_alternative<MemorySample>(news);
}

/// Merges the regions and peaks of `before` into its replacement, `after`.
void merge(const ProgressNews& before, ProgressNews& after) {
  if (auto* tile = std::get_if<TileDone>(&after)) {
    const std::optional<PictureRegion>& region = std::get<TileDone>(before).region;
    if (region) tile->region = tile->region ? around(*region, *tile->region) : *region;
  } else if (auto* sample = std::get_if<MemorySample>(&after)) {
    sample->peak_bytes = std::max(sample->peak_bytes, std::get<MemorySample>(before).peak_bytes);
  }
}

}  // namespace

ProgressWriter::ProgressWriter(std::ostream& stream, std::function<double()> clock, int descriptor)
    : stream_(stream), clock_(std::move(clock)), descriptor_(descriptor), lines_left_(kLinesAtOnce) {}

void ProgressWriter::tell(const ProgressNews& news) {
  const double now = clock_();
  lines_left_ = std::min(kLinesAtOnce, lines_left_ + (now - counted_at_) * kLinesPerSecond);
  counted_at_ = now;
  add({now, news});
  write(std::holds_alternative<RunEnded>(news));
}

void ProgressWriter::add(ProgressEvent event) {
  const auto same = std::find_if(waiting_.begin(), waiting_.end(), [&](const ProgressEvent& other) {
    return replaceable(event.news) && other.news.index() == event.news.index();
  });
  if (same != waiting_.end()) {
    merge(same->news, event.news);
    waiting_.erase(same);
  }
  waiting_.push_back(std::move(event));
}

bool ProgressWriter::may_write(bool all) const {
  if (all) return true;
  const bool urgent = std::any_of(waiting_.begin(), waiting_.end(),
                                  [](const ProgressEvent& event) { return !frequent(event.news); });
  return lines_left_ >= 1 + (urgent ? 0 : kLinesHeldBack) && (descriptor_ < 0 || has_room(descriptor_));
}

void ProgressWriter::write(bool all) {
  while (!waiting_.empty() && may_write(all)) {
    const std::string line = progress_line(waiting_.front());
    // Write the line in one call, so that it does not mix with other output.
    stream_.write(line.data(), static_cast<std::streamsize>(line.size()));
    stream_.flush();
    lines_left_ -= 1;
    waiting_.erase(waiting_.begin());
  }
}

}  // namespace headroom
