#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/placement/placement.h"
#include "decoder/gpu/transfers/host_memory.h"
#include "decoder/graph/model.h"
#include "decoder/interpreter/events.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// A GPU that ignores all calls. With it a dry run executes the decode's own code without a GPU. Its host
/// memory is real and zero-initialised.
class DryGpu : public gpu::Gpu {
 public:
  std::string device() const override { return "none"; }
  std::string libraries() const override { return "none"; }
  int64_t free_bytes() const override { return std::numeric_limits<int64_t>::max(); }
  int64_t total_bytes() const override { return std::numeric_limits<int64_t>::max(); }
  int64_t own_bytes() const override { return 0; }

  std::byte* reserve(int64_t) override { return nullptr; }
  std::byte* reserve_host(int64_t bytes) override {
    auto* memory = static_cast<std::byte*>(std::calloc(static_cast<size_t>(bytes), 1));
    if (memory == nullptr) throw std::bad_alloc();
    host_memory_.emplace_back(memory, std::free);
    return memory;
  }
  std::shared_ptr<std::byte> pin(int64_t bytes) override {
    return {static_cast<std::byte*>(std::calloc(static_cast<size_t>(bytes), 1)), std::free};
  }
  void release() noexcept override { host_memory_.clear(); }

  void run(const gpu::Call&) override {}
  void copy(gpu::Stream, void*, const void*, int64_t) override {}
  void clear(void*, int64_t) override {}

  gpu::Event record(gpu::Stream) override { return {}; }
  void wait(gpu::Stream, gpu::Event) override {}
  void wait_on_host(gpu::Event) override {}
  bool happened(gpu::Event) override { return true; }

 private:
  std::vector<std::unique_ptr<std::byte, void (*)(void*)>> host_memory_;
};

/// Memory requests of a decode on a GPU, and their placement. To find them, the interpreter executes the plan
/// on a DryGpu before the decode.
struct DryRun {
  MemoryRequests requests;
  size_t first_micro_batch = 0;  ///< event at which every full micro-batch begins
  size_t last_micro_batch = 0;   ///< event at which the last micro-batch begins, which may be smaller
  std::vector<size_t> passes;    ///< first event of each pass in the first micro-batch
  Placement placement;
  /// Bytes of weights that stay on the GPU and are shared between decodes. They come first in the
  /// reservation.
  int64_t weights_bytes = 0;
  HostLayout host;

  /// Bytes of the whole reservation.
  int64_t bytes() const { return weights_bytes + placement.bytes; }
  /// Most bytes that are live at one time.
  int64_t live_bytes() const { return weights_bytes + placement.live_bytes; }
  /// For each pass, the highest end offset of the requests that are live while it runs.
  std::vector<int64_t> bytes_by_pass() const;
  /// Copies that move blocks before each pass of the first micro-batch.
  std::vector<std::vector<Copy>> copies_by_pass() const;
};

/// Throws InputError if the plan cannot run on CUDA. `listener`, if not null, receives the events of a
/// decode, and its memory observer receives each request in order. The placement is the one behind the plan's
/// predicted peak (planner/search/finish_plan.h).
DryRun run_dry(const Model& model, const Plan& plan, EventSink* listener = nullptr);
/// Dry run for planning. Stops the search at the first placement within `enough_bytes` (find_placement()).
/// run_dry() of the finished plan finds the same placement.
DryRun run_dry_within(const Model& model, const Plan& plan, int64_t enough_bytes,
                      EventSink* listener = nullptr);
/// The first half of run_dry(): collects the requests without placing them. `gpu` receives the decode's
/// calls. Their addresses are not backed by memory.
DryRun run_dry_on(gpu::Gpu& gpu, const Model& model, const Plan& plan, EventSink* listener = nullptr);

/// Dry run of a plan for an allocator with the given reservation sizes. Throws LimitExceeded if the plan
/// exceeds its limit of GPU memory or host memory.
DryRun run_dry_within_limit(const Model& model, const Plan& plan, const ReservationSizes& sizes);

/// The earliest time at which a pass's weights can be copied to their place, while the pass before still
/// runs.
struct WeightsAhead {
  size_t event = 0;    ///< of the dry run: from this event on the place is free
  int64_t offset = 0;  ///< of the weights in the decode's memory
};

/// One entry per pass, for a plan that loads weights per pass. An event always lies after the start of the
/// previous pass. If it is the first event of the pass itself, its weights cannot be copied early.
std::vector<WeightsAhead> weights_ahead(const DryRun& dry_run);

}  // namespace headroom
