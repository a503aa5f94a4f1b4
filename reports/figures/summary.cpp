#include <algorithm>

#include "planner/cost/seconds_range.h"
#include "reports/figures/document.h"
#include "reports/figures/history.h"
#include "reports/figures/unit.h"

namespace headroom::reports {
namespace {

constexpr size_t kLongestName = 120;
constexpr size_t kSizesNamed = 3;

/// Text from a file, shortened to a single line.
std::string one_line(const std::string& text) {
  std::string line = text.substr(0, kLongestName);
  // Never cut inside a multi-byte character.
  while (line.size() < text.size() && !line.empty() && (text[line.size()] & 0xC0) == 0x80) line.pop_back();
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return line + (line.size() < text.size() ? "..." : "");
}

std::string bytes_text(int64_t bytes) {
  return format(Unit::bytes, double(bytes));
}

std::string limit_text(int64_t bytes) {
  return is_limit(bytes) ? "limit " + bytes_text(bytes) : "no limit";
}

std::string size_text(int64_t width_pixels, int64_t height_pixels) {
  return std::to_string(width_pixels) + "x" + std::to_string(height_pixels);
}

std::string request_text(const Request& request) {
  return model_title(request.model) + " " + size_text(request.width_pixels, request.height_pixels) + " " +
         arithmetic_of(request) + on_text(request.device) +
         (request.frames > 1 ? ", " + std::to_string(request.frames) + " frames" : "") +
         (request.batch > 1 ? ", batch " + std::to_string(request.batch) : "");
}

std::string text_of(const PlanDocument& document) {
  const Plan& plan = document.plan;
  return request_text(plan.request) + ", " + limit_text(plan.limit_bytes) + ", peak " +
         bytes_text(plan.predicted_peak_bytes) + ", " + planner::seconds_text(plan) +
         (plan.learnt.decodes > 0 ? " " + planner::costs_text(plan)
          : plan.assumed          ? " by assumed costs"
                                  : "");
}

std::string text_of(const RunStats& stats) {
  return (stats.queue ? counted(stats.queue->decodes.size(), "decode", "decodes")
                      : counted(stats.passes.size(), "pass", "passes")) +
         ", " + limit_text(stats.limit_bytes) + ", peak " + bytes_text(stats.peak_bytes) + ", " +
         format(Unit::seconds, stats.seconds) + ", " + one_line(stats.device);
}

std::string text_of(const RecordedTrace& recorded) {
  const Trace& trace = recorded.trace;
  return model_title(trace.model) + ", " + limit_text(trace.limit_bytes) + ", " +
         format(Unit::seconds, trace.seconds) + ", " + counted(trace.events.size(), "event", "events") +
         ", " + one_line(trace.device);
}

std::string text_of(const profiler::Profile& profile) {
  std::string text = model_title(profile.model) + " " + name_of(profile.dtype);
  for (size_t i = 0; i < std::min(profile.sizes.size(), kSizesNamed); ++i)
    text += ", " + size_text(profile.sizes[i].width_pixels, profile.sizes[i].height_pixels);
  if (profile.sizes.size() > kSizesNamed)
    text += " and " + std::to_string(profile.sizes.size() - kSizesNamed) + " more";
  return text + ", " + one_line(profile.device);
}

std::string text_of(const FrontierDocument& frontier) {
  std::string text = request_text(frontier.request) + ", " + counted(frontier.points.size(), "plan", "plans");
  if (!frontier.points.empty()) {
    const planner::FrontierPoint &largest = frontier.points.front(), &smallest = frontier.points.back();
    text += ", from " + bytes_text(largest.peak_bytes) + " and " + format(Unit::seconds, largest.seconds) +
            " to " + bytes_text(smallest.peak_bytes) + " and " + format(Unit::seconds, smallest.seconds);
  }
  return text + (frontier.assumed ? ", by assumed costs" : "");
}

std::string text_of(const Plans& shared, const std::vector<DocumentPtr>& ranks) {
  int64_t peak = 0;
  for (const DocumentPtr& rank : ranks)
    peak = std::max(peak, rank->as<PlanDocument>()->plan.predicted_peak_bytes);
  return counted(static_cast<int64_t>(ranks.size()), "rank", "ranks") + ", " + request_text(shared.request) +
         ", peak " + bytes_text(peak) + " at most, " + format(Unit::seconds, shared.predicted_seconds) +
         ", " + bytes_text(shared.sent_bytes()) + " sent";
}

std::string text_of(const TracesDocument&, const std::vector<DocumentPtr>& ranks) {
  double seconds = 0;
  for (const DocumentPtr& rank : ranks) seconds = std::max(seconds, rank->as<RecordedTrace>()->trace.seconds);
  const Trace& first = ranks.front()->as<RecordedTrace>()->trace;
  return counted(static_cast<int64_t>(ranks.size()), "rank", "ranks") + ", " + model_title(first.model) +
         ", " + format(Unit::seconds, seconds) + ", " + one_line(first.device);
}

std::string text_of(const profiler::MemoryHistory& history, const std::string& recorded_device) {
  const profiler::DeviceHistory& device = device_of(history, recorded_device);
  std::string text = history.source + ", " + device.device + ", peak " +
                     bytes_text(device.allocated_bytes[device.peak()]) + ", " +
                     counted(static_cast<int64_t>(device.moments()) - 1, "record", "records");
  return text + (device.refusals.empty() ? "" : ", out of memory");
}

std::string text_of(const profiler::EagerRecording& recording) {
  int64_t most = 0;
  for (const profiler::RecordedEagerDecode& decode : recording.decodes)
    most = std::max(most, decode.peak_bytes);
  return model_title(recording.model) + " " + name_of(recording.dtype) + ", " +
         counted(static_cast<int64_t>(recording.decodes.size()), "decode", "decodes") + ", peak " +
         bytes_text(most) + " at most, " + one_line(recording.libraries) + ", " + one_line(recording.device);
}

}  // namespace

std::string model_title(const std::string& model) {
  const std::filesystem::path path(model);
  if (!path.has_parent_path()) return one_line(model);
  const std::filesystem::path folder = path.has_filename() ? path : path.parent_path();
  const std::filesystem::path above = folder.parent_path().filename();
  // Pipelines keep their VAE in a folder of this name.
  return one_line(
      (folder.filename() == "vae" && !above.empty() ? above / folder.filename() : folder.filename())
          .string());
}

std::string summary(const Document& document, const std::string& recorded_device) {
  const auto text = [&](const auto& contents) {
    if constexpr (std::is_same_v<decltype(contents), const profiler::MemoryHistory&>) {
      return text_of(contents, recorded_device);
    } else if constexpr (requires { text_of(contents, document.ranks); }) {
      return text_of(contents, document.ranks);
    } else {
      return text_of(contents);
    }
  };
  return std::visit(text, document.contents);
}

}  // namespace headroom::reports
