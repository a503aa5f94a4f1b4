#pragma once

#include <chrono>
#include <mutex>

#include "decoder/interpreter/events.h"
#include "decoder/plan/stats.h"
#include "decoder/trace/trace_builder.h"

namespace headroom {

/// Records one decode by the host's clock. Pass it to decode() as the event sink. Its memory stays within the
/// bounds.
class TraceRecorder final : public ForwardingEvents, private MemoryObserver {
 public:
  /// Starts the clock. `next` receives tiles and steps as well; may be null.
  explicit TraceRecorder(EventSink* next = nullptr, const TraceBounds& bounds = {});

  /// Seconds since the start, by its clock.
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  /// Returns the trace. Call it once the decode is over. The caller fills in the names.
  Trace finish();

  void pass_started(const Plan& plan, int32_t pass) override;
  void step_done(const Plan& plan, const StepDone& done) override;
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override;
  void allocating(MemoryKind kind, TensorId tensor) override;
  void holds_tile(const void* memory) override;
  void device_memory(const DeviceMemoryUse& use) override;
  void exchanged(const Exchanged& done) override;
  bool watches_device_memory() const override { return true; }
  MemoryObserver* memory_observer() override { return this; }

 private:
  void allocated(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override;
  void freed(const void* memory, int64_t bytes, int64_t live_bytes, int64_t warm_bytes) override;
  void moved(const void* from, const void* to) override;
  void sample_outside();

  std::mutex mutex_;
  TraceBuilder trace_;
  std::chrono::steady_clock::time_point start_;
  int64_t resident_at_start_;
  MemoryKind kind_ = MemoryKind::weights;
  TensorId layer_{-1};
  int64_t pool_resident_bytes_ = 0;
  DeviceMemoryUse device_;  ///< latest report of a GPU
  std::vector<DriverSample> driver_;
};

/// A decode that is over, and its recording.
struct RecordedDecode {
  TraceRecorder& recorder;
  const Plan& plan;
  const Graph& graph;
  const RunStats& stats;
};

}  // namespace headroom
