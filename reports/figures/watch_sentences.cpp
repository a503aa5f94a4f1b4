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
  if (text.empty()) return trace.sources.empty() ? "" : "No source of GPU records captured anything.";
  return "GPU records: " + text + ".";
}

std::string driver_sentence(const Timeline& timeline) {
  const std::optional<DriverDifference> largest = largest_difference(timeline);
  if (!largest) return "";
  const auto bytes = [](int64_t count) { return format(Unit::bytes, double(count)); };
  const int64_t difference = largest->driver_bytes - largest->counted_bytes;
  const auto asked = static_cast<int64_t>(timeline.driver().size());
  if (difference == 0) {
    return "The driver reported its memory " + counted(asked, "time", "times") +
           ", always the sum of all kinds of memory.";
  }
  return "The driver reported its memory " + counted(asked, "time", "times") + ". After " +
         format(Unit::seconds, largest->seconds) +
         " its figure differed most from the sum of all kinds of memory: it was " +
         bytes(std::abs(difference)) + (difference > 0 ? " more, " : " less, ") +
         bytes(largest->driver_bytes) + " instead of " + bytes(largest->counted_bytes) + ".";
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
    sentences.push_back(counted(trace.records_lost, "record was lost.", "records were lost.") +
                        " The trace is incomplete.");
  }
  sentences.push_back(driver_sentence(timeline));
  std::erase(sentences, "");
  return sentences;
}

std::vector<std::string> activity_sentences(const Trace& trace) {
  std::vector<std::string> sentences;
  if (trace.activities_left_out > 0) {
    sentences.push_back("The list has the first " +
                        counted(static_cast<int64_t>(trace.activities.size()), "activity", "activities") +
                        " of the GPU. The tables by names and streams leave out " +
                        counted(trace.activities_left_out, "later one", "later ones") +
                        ". The tables by passes and steps have all of them.");
  }
  if (trace.activities_of_no_step > 0) {
    sentences.push_back(counted(trace.activities_of_no_step, "activity belongs", "activities belong") +
                        " to no known step. The times of passes and steps leave " +
                        (trace.activities_of_no_step == 1 ? "it" : "them") + " out.");
  }
  return sentences;
}

}  // namespace headroom::reports
