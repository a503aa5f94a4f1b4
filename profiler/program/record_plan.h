#pragma once

#include <string>
#include <vector>

#include "decoder/base/progress/progress.h"
#include "decoder/devices/device_name.h"
#include "decoder/graph/model.h"
#include "decoder/plan/stats.h"
#include "decoder/trace/trace.h"
#include "decoder/weights/parameter_source.h"
#include "profiler/events/device_events.h"

namespace headroom::profiler {

/// Sources to capture besides the decode's own events.
struct Watching {
  bool allocator = true;  ///< captures LibTorch's allocator
  std::vector<WatchKind> driver{WatchKind::kernels, WatchKind::copies, WatchKind::memory, WatchKind::pools,
                                WatchKind::calls};
};

/// Parses "allocator,kernels", "all" or "none". Throws InputError that names `option` and the unknown word.
Watching parse_watching(const std::string& text, const std::string& option);

/// One line for each source that failed.
std::vector<std::string> warnings_of(const std::vector<TraceSource>& sources);

/// A plan to run, and the output file for its trace.
struct RecordRequest {
  std::string plan_file;
  std::string latent;  ///< latent file; empty: seeded random latent
  std::string trace_file;
  std::optional<DeviceName> device;  ///< the plan must be for its kind; unset: any
  Watching watching;                 ///< GPU events to capture
  int threads = 0;
};

/// Statistics of the run, and warnings about gaps in the record.
struct Recorded {
  RunStats stats;
  std::vector<std::string> warnings;
};

/// Runs the plan on its device, discards the picture and writes the trace. If the GPU cannot be watched, the
/// decode still runs.
Recorded record_plan(const Model& model, const RecordRequest& request, const ParameterSource& weights,
                     Progress& progress);

}  // namespace headroom::profiler
