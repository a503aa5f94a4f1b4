#include "reports/figures/watch_sentences.h"

#include <cstdlib>

#include "reports/figures/driver_count.h"
#include "reports/figures/unit.h"

namespace headroom::reports {
namespace {

std::string captured_sentence(const Trace& trace) {
  std::string text;
  for (const TraceSource& source : trace.sources) {
    if (!source.captured) continue;
    text += (text.empty() ? "" : ", ") + source.name;
    if (!source.detail.empty()) text += " (" + source.detail + ")";
  }
  if (text.empty())
    return trace.sources.empty() ? "" : "Nothing that was to watch the GPU captured anything.";
  return "The GPU was watched by " + text + ".";
}

std::string driver_sentence(const Timeline& timeline) {
  const std::optional<DriverDifference> largest = largest_difference(timeline);
  if (!largest) return "";
  const auto bytes = [](int64_t count) { return format(Unit::bytes, double(count)); };
  const int64_t difference = largest->driver_bytes - largest->counted_bytes;
  const auto asked = static_cast<int64_t>(timeline.driver().size());
  if (difference == 0) {
    return "The driver was asked " + counted(asked, "time", "times") +
           " and always counted what all kinds add up to.";
  }
  return "The driver was asked " + counted(asked, "time", "times") + "; after " +
         format(Unit::seconds, largest->seconds) +
         " its count was furthest from what all kinds add up to: " + bytes(std::abs(difference)) +
         (difference > 0 ? " more, " : " less, ") + bytes(largest->driver_bytes) + " beside " +
         bytes(largest->counted_bytes) + ".";
}

}  // namespace

std::vector<std::string> watch_sentences(const Trace& trace, const Timeline& timeline) {
  std::vector<std::string> sentences{captured_sentence(trace)};
  for (const TraceSource& source : trace.sources) {
    if (source.captured) continue;
    sentences.push_back(source.name + ": not captured" +
                        (source.detail.empty() ? "." : ": " + source.detail + "."));
  }
  if (trace.records_lost > 0) {
    sentences.push_back(
        counted(trace.records_lost, "record was lost: what it", "records were lost: what they") +
        " reported is missing here.");
  }
  sentences.push_back(driver_sentence(timeline));
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> activity_sentences(const Trace& trace) {
  std::vector<std::string> sentences;
  if (trace.activities_left_out > 0) {
    sentences.push_back("Listed one by one are the first " +
                        counted(static_cast<int64_t>(trace.activities.size()), "activity", "activities") +
                        " of the GPU; the tables by names and streams leave out " +
                        counted(trace.activities_left_out, "later one", "later ones") +
                        ", those by passes and steps do not.");
  }
  if (trace.activities_of_no_step > 0) {
    sentences.push_back(counted(trace.activities_of_no_step, "activity belongs", "activities belong") +
                        " to no step that is known, so the time of passes and steps is without " +
                        (trace.activities_of_no_step == 1 ? "it." : "them."));
  }
  return sentences;
}

}  // namespace headroom::reports
