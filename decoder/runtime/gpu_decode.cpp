#include "decoder/runtime/gpu_decode.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "decoder/gpu_runtime/gpu_device.h"
#include "decoder/gpu_runtime/host_transfers.h"
#include "decoder/gpu_runtime/rehearsal.h"
#include "decoder/graph/errors.h"
#include "decoder/interpreter/interpreter.h"
#include "decoder/runtime/decode.h"
#include "decoder/runtime/unpacked_weights.h"

namespace headroom {
namespace {

/// Frees a GPU's memory when all is over, one way or the other.
class Released {
 public:
  explicit Released(gpu::Gpu& gpu) : gpu_(gpu) {}
  ~Released() { gpu_.release(); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  gpu::Gpu& gpu_;
};

/// Slots of pinned host memory that a plan's blocks go to.
ScratchLayout host_layout(const Graph& graph, const Plan& plan) {
  Plan as_in_a_file = plan;
  std::erase_if(as_in_a_file.kept, [](const Kept& entry) { return entry.place != Place::host; });
  for (Kept& entry : as_in_a_file.kept) entry.place = Place::scratch;
  return scratch_layout(graph, as_in_a_file);
}

}  // namespace

RunStats decode_on_gpu(gpu::Gpu& gpu, const Model& model, const Plan& plan, const ParameterSource& source,
                       const Array& latent, PictureSink& sink, EventSink* events,
                       const std::function<void(double)>& loading) {
  check_latent(model, plan, latent);
  const c10::InferenceMode inference;
  const Rehearsal rehearsal = rehearse(model, plan);
  const int64_t bytes = rehearsal.placement.bytes;
  if (bytes > plan.limit_bytes) {
    throw LimitExceeded("the plan takes " + std::to_string(bytes) + " bytes of the GPU's memory, limit " +
                        std::to_string(plan.limit_bytes));
  }
  const int64_t free_before = gpu.free_bytes();
  const Released released(gpu);
  const auto memory =
      std::make_shared<GpuMemory>(gpu.reserve(bytes), rehearsal.requests, rehearsal.placement);
  PinnedStaging staging(gpu);
  std::optional<HostTransfers> transfers;
  if (const ScratchLayout host = host_layout(model.graph, plan); host.slots > 0) {
    if (host.slots * host.slot_bytes > plan.host_limit_bytes)
      throw LimitExceeded("kept tensors take more host memory than the plan's limit for it");
    transfers.emplace(gpu, gpu.reserve_host(host.slots * host.slot_bytes), host.slots, host.slot_bytes);
  }
  const HostWeights unpacked = unpacked_weights(model.graph, source);
  std::optional<GpuWeights> weights;
  if (plan.weights == WeightResidency::resident) {
    weights.emplace(model.graph, all_operations(model.graph), plan.request.dtype, unpacked, *memory, &gpu,
                    &staging, loading);
  }
  gpu.wait_on_host(gpu.record(gpu::Stream::compute));

  RunStats stats;
  for (const Pass& pass : plan.passes)
    stats.passes.push_back({pass.name, pass.predicted_peak_bytes, 0, pass.predicted_seconds, 0});
  const auto start = std::chrono::steady_clock::now();
  for (int64_t item = 0; item < plan.request.batch; item += plan.slice) {
    const Plan slice = plan_of_slice(plan, item);
    memory->go_to(slice.slice == plan.slice ? rehearsal.first_slice : rehearsal.last_slice);
    GpuDevice device(model.graph, slice, *memory, unpacked, weights ? &*weights : nullptr, &gpu, &staging);
    Interpreter interpreter(model, slice, device, transfers ? &*transfers : nullptr, events);
    interpreter.run(latent, item, sink);
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      const PassMeasurement& measured = interpreter.measurements()[i];
      stats.passes[i].peak_bytes = std::max(stats.passes[i].peak_bytes, measured.peak_bytes);
      stats.passes[i].seconds += measured.seconds;
    }
  }
  gpu.wait_on_host(gpu.record(gpu::Stream::compute));
  stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stats.limit_bytes = plan.limit_bytes;
  stats.predicted_peak_bytes = plan.predicted_peak_bytes;
  stats.predicted_seconds = plan.predicted_seconds;
  stats.pool_peak_bytes = bytes;
  // Whatever the card lost beside what was reserved is a library's.
  stats.outside_bytes = std::max<int64_t>(0, free_before - gpu.free_bytes() - bytes);
  stats.peak_bytes = stats.pool_peak_bytes + stats.outside_bytes;
  stats.device = gpu.device();
  stats.libraries = gpu.libraries();
  stats.threads = 1;
  return stats;
}

}  // namespace headroom
