#include <algorithm>

#include "reports/figures/history.h"
#include "reports/figures/layers.h"
#include "reports/render/headline.h"
#include "reports/render/sentences.h"

namespace headroom::reports {

/// The untiled peaks of the three largest profiled sizes.
Headline profile_headline(const profiler::Profile& profile) {
  constexpr size_t kMost = 3;
  std::vector<const profiler::ProfiledSize*> sizes;
  for (const profiler::ProfiledSize& size : profile.sizes) sizes.push_back(&size);
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const auto* a, const auto* b) { return a->peak_bytes < b->peak_bytes; });
  if (sizes.size() > kMost) sizes.erase(sizes.begin(), sizes.end() - kMost);
  Headline headline;
  for (const profiler::ProfiledSize* size : sizes) {
    headline.figures.push_back(key_figure("untiled, " + size_text(*size), size->peak_bytes,
                                          "measured in " + format(Unit::seconds, size->seconds),
                                          ColourRole::untiled));
  }
  if (!sizes.empty()) headline.sentence = profile_sentence(profile);
  return headline;
}

Headline frontier_headline(const FrontierDocument& frontier) {
  if (frontier.points.empty()) return {};
  const planner::FrontierPoint &fastest = frontier.points.front(), &smallest = frontier.points.back();
  Headline headline;
  for (const auto& [what, point] :
       {std::pair("fastest plan", &fastest), std::pair("smallest plan", &smallest)})
    headline.figures.push_back(key_figure(what, point->peak_bytes,
                                          "predicted, in " + format(Unit::seconds, point->seconds),
                                          ColourRole::planned));
  headline.sentence = frontier_sentence(frontier);
  return headline;
}

/// PyTorch's peak and last request, the memory that it had, and the memory that Headroom needs.
Headline history_headline(const Findings& found) {
  const auto& history = *found.histories.front()->as<profiler::MemoryHistory>();
  const profiler::DeviceHistory& device = device_of(history, found.recorded_device);
  if (device.allocated_bytes.empty()) return {};
  const std::string file = found.histories.front()->file.filename().string();
  const std::string on = " on " + device.device;
  const int64_t peak = device.allocated_bytes[device.peak()];
  Headline headline;
  headline.figures.push_back(
      key_figure("PyTorch's peak", peak, "allocated" + on + ", in " + file, ColourRole::measured));
  const std::optional<int64_t> had =
      found.other_limit_bytes ? found.other_limit_bytes : available_bytes(device);
  if (had) {
    headline.figures.push_back(key_figure(
        found.other_limit_bytes ? "limit" : "available memory", *had,
        found.other_limit_bytes ? "of --limit" : on.substr(1) + " when PyTorch ran out", ColourRole::limit));
  }
  const std::optional<LastRequest> last = last_request(device);
  if (last && last->refused) {
    headline.sentence = "PyTorch ran out of memory" + on + ": a request for " +
                        format(Unit::bytes, double(last->bytes)) + " failed, with " +
                        format(Unit::bytes, double(device.allocated_bytes[last->moment])) + " allocated.";
  } else {
    headline.sentence =
        "PyTorch took at most " + format(Unit::bytes, double(peak)) + on + ". No request failed.";
  }
  if (found.need) {
    headline.figures.push_back(key_figure("Headroom's smallest limit", found.need->smallest_bytes,
                                          "predicted for " + request_text(found.need->request),
                                          ColourRole::predicted));
  }
  return headline;
}

}  // namespace headroom::reports
