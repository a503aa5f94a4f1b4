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

/// Settings for recording a decode.
struct Recording {
  DeviceWatcher& watcher;
  gpu::Gpu* gpu = nullptr;  ///< GPU to decode on; null for a CPU plan
  bool allocator = true;    ///< captures LibTorch's allocator; GPU only
  /// Wraps the recorder in the event sink that decode() gets, for example to forward events to other sinks
  /// too.
  std::function<EventSink*(EventSink* recorder)> with_events{};
  std::function<void(double)> loading{};
};

/// Decodes, discards the picture and returns all captured events. Call start_libraries() first. Throws the
/// exceptions of decode().
RecordedDecode record_decode(const Model& model, const Plan& plan, const ParameterSource& weights,
                             const Array& latent, const Recording& how);

}  // namespace headroom::profiler
