#pragma once

#include <functional>

#include "decoder/cpu/packed_weights.h"
#include "decoder/files/array.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/stats.h"
#include "profiler/events/device_watcher.h"

namespace headroom::profiler {

struct RecordedDecode {
  RunStats stats;
  DeviceRecording recording;
};

/// How a decode is to be recorded.
struct Recording {
  DeviceWatcher& watcher;
  gpu::Gpu* gpu = nullptr;  ///< to decode on; null for a plan of the CPU
  bool allocator = true;    ///< whether LibTorch's allocator is captured, on a GPU
  /// Makes the events for decode() from the recorder; they may go to others too.
  std::function<EventSink*(EventSink* recorder)> with_events{};
  std::function<void(double)> loading{};
};

/// Decodes, drops the picture and records all that is captured. start_libraries() first. Throws as
/// decode() does.
RecordedDecode record_decode(const Model& model, const Plan& plan, const ParameterSource& weights,
                             const Array& latent, const Recording& how);

}  // namespace headroom::profiler
