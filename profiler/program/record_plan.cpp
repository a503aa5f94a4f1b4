#include "profiler/program/record_plan.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "decoder/base/errors.h"
#include "decoder/base/text.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/plan/plan_file.h"
#include "decoder/session/environment.h"
#include "decoder/session/picture_shape.h"
#include "decoder/session/progress_events.h"
#include "decoder/session/session.h"
#include "decoder/session/trace_recorder.h"
#include "decoder/trace/trace_file.h"
#include "decoder/validator/validator.h"
#include "decoder/weights/random_weights.h"
#include "profiler/cupti/open_cupti.h"
#include "profiler/events/join_events.h"
#include "profiler/measure/device_recorder.h"

namespace headroom::profiler {
namespace {

Plan plan_of(const Model& model, const std::string& file) {
  Plan plan = read_plan(file, model.graph);
  require_valid(plan, model, file);
  return plan;
}

/// Writes the trace. Returns warnings about its gaps.
std::vector<std::string> write_recording(const DeviceRecording& recording, const Plan& plan,
                                         const Graph& graph, const RecordRequest& request) {
  const Trace trace = join_events(recording, plan);
  write_trace(request.trace_file, trace, plan, graph);
  std::vector<std::string> warnings = warnings_of(trace.sources);
  if (trace.records_lost > 0)
    warnings.push_back(std::to_string(trace.records_lost) + " records were lost: the trace lacks them");
  return warnings;
}

/// Decodes on the CPU, which writes its trace directly.
RunStats trace_on_cpu(const Model& model, const Plan& plan, const ParameterSource& weights,
                      const Array& latent, const RecordRequest& request, Progress& progress) {
  DiscardingSink sink(picture_shape(model.graph, plan.request));
  TraceRecorder recorder;
  ProgressEvents events(progress, &recorder, &model.graph);
  RunStats stats =
      decode(model, plan, weights, latent, sink, {&events, [&](double share) { events.loading(share); }});
  write_trace(request.trace_file, described(recorder.finish(), plan, stats), plan, model.graph);
  return stats;
}

}  // namespace

Recorded record_plan(const Model& model, const RecordRequest& request, const ParameterSource& weights,
                     Progress& progress) {
  const Plan plan = plan_of(model, request.plan_file);
  check_device(request.device, request.plan_file, plan.request.device);
  const bool on_gpu = !device_record(plan.request.device).is_host;
  // The watcher must exist before CUDA starts. The GPU is opened next, because without it the command fails.
  const std::unique_ptr<DeviceWatcher> watcher = on_gpu && !request.watching.driver.empty()
                                                     ? watch_with_cupti(request.watching.driver)
                                                     : std::make_unique<NoWatcher>();
  const std::unique_ptr<gpu::Gpu> gpu = gpu::open_gpu_for(plan.request.device, gpu_index(request.device));
  const Request& decoded = plan.request;
  const Extent extent = latent_extent(model, decoded.width_pixels, decoded.height_pixels, decoded.frames);
  const Array latent = request.latent.empty() ? random_latent(input_shape(model, extent, decoded.batch), 0)
                                              : with_batch_axis(model, read_latent(request.latent));
  RunBegun news = begun("headroom-profile", plan);
  news.output = request.trace_file;
  progress.tell(news);
  start_libraries(request.threads);
  if (!on_gpu) return {trace_on_cpu(model, plan, weights, latent, request, progress), {}};

  std::optional<ProgressEvents> events;
  const RecordedDecode recorded =
      record_decode(model, plan, weights, latent,
                    {.watcher = *watcher,
                     .gpu = gpu.get(),
                     .allocator = request.watching.allocator,
                     .with_events = [&](EventSink* recorder) { return &events.emplace(progress, recorder); },
                     .loading = [&](double share) { events->loading(share); }});
  return {recorded.stats, write_recording(recorded.recording, plan, model.graph, request)};
}

Watching parse_watching(const std::string& text, const std::string& option) {
  if (text == "all") return {};
  if (text.empty()) throw InputError(option + ": expected all, none or a list, found ''");
  Watching watching{.allocator = false, .driver = {}};
  if (text == "none") return watching;
  TextReader words(text);
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "allocator") {
      watching.allocator = true;
      continue;
    }
    std::string known = "allocator";
    bool found = false;
    for (size_t i = 0; i < kWatchKinds; ++i) {
      const auto kind = static_cast<WatchKind>(i);
      known += std::string(", ") + name_of(kind);
      if (word != name_of(kind)) continue;
      found = true;
      if (std::find(watching.driver.begin(), watching.driver.end(), kind) == watching.driver.end())
        watching.driver.push_back(kind);
    }
    if (!found)
      throw InputError(option + ": expected all, none or some of " + known + ", found '" + word + "'");
  }
  return watching;
}

std::vector<std::string> warnings_of(const std::vector<TraceSource>& sources) {
  std::vector<std::string> lines;
  for (const TraceSource& source : sources) {
    if (!source.captured) lines.push_back(source.name + ": not captured: " + source.detail);
  }
  return lines;
}

}  // namespace headroom::profiler
