#include "decoder/base/progress/progress_writer.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "decoder/base/os/standard_streams.h"

namespace headroom {
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
