#pragma once

#include <string>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/interpreter/events.h"

namespace headroom {

/// Adds GPU data to the events of a decode: NVTX ranges for each pass and step, and the memory use that the
/// driver reports.
class GpuEvents final : public ForwardingEvents {
 public:
  /// Call at the start of the decode, which runs in `reserved_bytes` at `reserved`.
  GpuEvents(gpu::Gpu& gpu, const Graph& graph, const void* reserved, int64_t reserved_bytes, EventSink* next);
  ~GpuEvents() override { close(0); }
  GpuEvents(const GpuEvents&) = delete;
  GpuEvents& operator=(const GpuEvents&) = delete;

  void pass_started(const Plan& plan, int32_t pass) override;
  void tile_started(const Plan& plan, int32_t pass, int64_t tile, int64_t tiles) override;
  void step_done(const Plan& plan, const StepDone& done) override;
  /// Call at the end of the decode.
  void end();

 private:
  void ask_driver();
  void open(const std::string& name);
  /// Closes ranges until `ranges` are open.
  void close(int ranges);

  gpu::Gpu& gpu_;
  const Graph& graph_;
  const void* reserved_;
  const int64_t reserved_bytes_;
  int open_ranges_ = 0;
  std::vector<std::string> steps_;  ///< names of the current pass's steps
};

}  // namespace headroom
