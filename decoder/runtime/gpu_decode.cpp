#include "decoder/runtime/gpu_decode.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "decoder/graph/errors.h"
#include "decoder/runtime/decode.h"
#include "decoder/runtime/gpu_device.h"
#include "decoder/runtime/host_transfers.h"
#include "decoder/runtime/interpreter.h"

namespace headroom {
namespace {

/// Transfers of a rehearsal: none.
class NoTransfers final : public BlockTransfers {
 public:
  Ticket queue_write(const std::vector<Block>&) override { return 0; }
  Ticket queue_read(const std::vector<Block>&) override { return 0; }
  void wait(Ticket) override {}
  void abandon() noexcept override {}
};

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

void check_places(const Graph& graph, const Plan& plan) {
  const Sizes sizes = sizes_of(graph, plan);
  for (const Kept& entry : plan.kept) {
    const std::string& name = graph.tensor(entry.tensor).name;
    if (entry.place == Place::scratch)
      throw InputError(name + " is kept in a scratch file: not on CUDA; plan with a host limit instead");
    if (block_count(graph, entry, sizes) > gpu::kMostBlocks) {
      throw InputError(name + " is kept in " + std::to_string(block_count(graph, entry, sizes)) +
                       " blocks; expected at most " + std::to_string(gpu::kMostBlocks) + " on CUDA");
    }
  }
}

Plan plan_of_slice(const Plan& plan, int64_t first_item) {
  Plan slice = plan;
  slice.slice = std::min(plan.slice, plan.request.batch - first_item);  // the last one may be shorter
  return slice;
}

bool resident(const Plan& plan) {
  return plan.weights == WeightResidency::resident;
}

/// Slots of pinned host memory that a plan's blocks go to.
ScratchLayout host_layout(const Graph& graph, const Plan& plan) {
  Plan as_in_a_file = plan;
  std::erase_if(as_in_a_file.kept, [](const Kept& entry) { return entry.place != Place::host; });
  for (Kept& entry : as_in_a_file.kept) entry.place = Place::scratch;
  return scratch_layout(graph, as_in_a_file);
}

}  // namespace

int64_t reservation_bytes(const Model& model, const Plan& plan) {
  const auto memory = std::make_shared<GpuMemory>();
  const ParameterSource nothing;
  std::optional<GpuWeights> weights;
  if (resident(plan)) {
    weights.emplace(model.graph, all_operations(model.graph), plan.request.dtype, nothing, *memory, nullptr,
                    nullptr);
  }
  const int64_t last = (plan.request.batch - 1) / plan.slice * plan.slice;
  for (int64_t item = 0; item <= last; item += std::max<int64_t>(1, last)) {
    const Plan slice = plan_of_slice(plan, item);
    GpuDevice device(model.graph, slice, *memory, nothing, weights ? &*weights : nullptr, nullptr, nullptr);
    NoTransfers transfers;
    DiscardingSink sink({1, 1, 1, 1, 1});
    Interpreter(model, slice, device, &transfers, nullptr).run({}, item, sink);
  }
  const int64_t limit = plan.limit_bytes - plan.reserve_bytes;
  const std::optional<int64_t> bytes = memory->reservation_bytes(limit);
  if (bytes) return *bytes;
  throw LimitExceeded("the plan's " + std::to_string(memory->peak_bytes()) +
                      " live bytes have no places within its limit of " + std::to_string(plan.limit_bytes) +
                      "; plan for a little less");
}

RunStats decode_on_gpu(gpu::Gpu& gpu, const Model& model, const Plan& plan, const ParameterSource& source,
                       const Array& latent, PictureSink& sink, EventSink* events,
                       const std::function<void(double)>& loading) {
  check_latent(model, plan, latent);
  check_places(model.graph, plan);
  const c10::InferenceMode inference;
  const int64_t bytes = reservation_bytes(model, plan);
  const int64_t free_before = gpu.free_bytes();
  const Released released(gpu);
  const auto memory = std::make_shared<GpuMemory>(gpu.reserve(bytes), bytes, plan.limit_bytes);
  PinnedStaging staging(gpu);
  std::optional<HostTransfers> transfers;
  if (const ScratchLayout host = host_layout(model.graph, plan); host.slots > 0) {
    if (host.slots * host.slot_bytes > plan.host_limit_bytes)
      throw LimitExceeded("kept tensors take more host memory than the plan's limit for it");
    transfers.emplace(gpu, gpu.reserve_host(host.slots * host.slot_bytes), host.slots, host.slot_bytes);
  }
  std::optional<GpuWeights> weights;
  if (resident(plan)) {
    weights.emplace(model.graph, all_operations(model.graph), plan.request.dtype, source, *memory, &gpu,
                    &staging, loading);
  }
  gpu.wait_on_host(gpu.record(gpu::Stream::compute));

  RunStats stats;
  for (const Pass& pass : plan.passes)
    stats.passes.push_back({pass.name, pass.predicted_peak_bytes, 0, pass.predicted_seconds, 0});
  const auto start = std::chrono::steady_clock::now();
  for (int64_t item = 0; item < plan.request.batch; item += plan.slice) {
    const Plan slice = plan_of_slice(plan, item);
    GpuDevice device(model.graph, slice, *memory, source, weights ? &*weights : nullptr, &gpu, &staging);
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
  stats.pool_peak_bytes = memory->peak_bytes();
  // Whatever the card lost beside what was reserved is a library's.
  stats.outside_bytes = std::max<int64_t>(0, free_before - gpu.free_bytes() - bytes);
  stats.peak_bytes = stats.pool_peak_bytes + stats.outside_bytes;
  stats.device = gpu.device();
  stats.libraries = gpu.libraries();
  stats.threads = 1;
  return stats;
}

}  // namespace headroom
