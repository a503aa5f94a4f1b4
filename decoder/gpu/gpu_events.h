#pragma once

#include <string>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/interpreter/events.h"

namespace headroom {

/// Adds a GPU's reports to the events of a decode: ranges for each pass and each step, which other profilers
/// show, and the memory use that the driver counts.
class GpuEvents final : public ForwardingEvents {
 public:
  /// The decode begins, in `reserved_bytes` at `reserved`.
  GpuEvents(gpu::Gpu& gpu, const Graph& graph, const void* reserved, int64_t reserved_bytes, EventSink* next);
  ~GpuEvents() override { close(0); }
  GpuEvents(const GpuEvents&) = delete;
  GpuEvents& operator=(const GpuEvents&) = delete;

  void pass_started(const Plan& plan, int32_t pass) override;
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override;
  void step_done(const Plan& plan, const StepDone& done) override;
  /// The decode is over.
  void end();

 private:
  void ask_driver();
  void open(const std::string& name);
  /// Closes ranges until so many are open.
  void close(int ranges);

  gpu::Gpu& gpu_;
  const Graph& graph_;
  const void* reserved_;
  const int64_t reserved_bytes_;
  int open_ranges_ = 0;
  std::vector<std::string> steps_;  ///< names, of the pass that runs
};

}  // namespace headroom
