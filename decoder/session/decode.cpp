#include "decoder/session/decode.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <malloc.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "decoder/cpu/convolution.h"
#include "decoder/cpu/cpu_device.h"
#include "decoder/cpu/loops/loops.h"
#include "decoder/cpu/process_memory.h"
#include "decoder/cpu/scratch_file.h"
#include "decoder/cpu/scratch_transfers.h"
#include "decoder/cpu/tile.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/graph/errors.h"
#include "decoder/interpreter/interpreter.h"
#include "decoder/session/gpu_session.h"

namespace headroom {
namespace {

bool reads_whole(const Graph& graph, const Plan& plan, TensorId tensor) {
  for (const Pass& pass : plan.passes) {
    for (const Step& step : pass.steps) {
      if (step.kind != StepKind::attention) continue;
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        if (step.inputs[i].tensor == tensor && is_barrier(graph.op(step.op), i)) return true;
      }
    }
  }
  return false;
}

/// Attention walks keys and values block by block together.
void check_blocks(const Graph& graph, const Plan& plan) {
  const auto rows_of = [&](TensorId id) -> int64_t {
    for (const Materialised& entry : plan.materialised) {
      if (entry.tensor == id) return entry.block_rows;
    }
    return extent_of(graph.tensor(id), sizes_of(graph, plan).latent).y;  // the latent is one block
  };
  for (const Op& op : graph.ops()) {
    if (op.kind != OpKind::attention || rows_of(op.inputs[1]) == rows_of(op.inputs[2])) continue;
    throw InputError(op.name + ": its keys are kept in blocks of " + std::to_string(rows_of(op.inputs[1])) +
                     " rows, its values in blocks of " + std::to_string(rows_of(op.inputs[2])) +
                     "; expected the same");
  }
}

/// What this device can do with materialised tensors that are not on it.
void check_places(const Graph& graph, const Plan& plan) {
  for (const Materialised& entry : plan.materialised) {
    if (entry.place == Place::device) continue;
    const std::string named = graph.tensor(entry.tensor).name + " is kept in " + name_of(entry.place) + ": ";
    if (entry.place == Place::host)
      throw InputError(named + "on the CPU the device's memory is the host's; plan without a host limit");
    if (reads_whole(graph, plan, entry.tensor))
      throw InputError(named + "attention reads it whole, so it must be on the device");
    const bool shared =
        entry.in_place_of != TensorId{-1} ||
        std::any_of(plan.materialised.begin(), plan.materialised.end(),
                    [&](const Materialised& other) { return other.in_place_of == entry.tensor; });
    if (shared) throw InputError(named + "a sum in place needs both its operands on the device");
  }
}

/// The scratch file of a decode and the thread that serves it; nothing where the plan keeps nothing there.
class Scratch {
 public:
  Scratch(const Graph& graph, const Plan& plan) {
    const ScratchLayout layout = scratch_layout(graph, plan);
    if (layout.slots == 0) return;
    file_.emplace(plan.scratch_folder, layout.slots, layout.slot_bytes, plan.scratch_limit_bytes);
    transfers_.emplace(*file_);
  }
  ScratchTransfers* transfers() { return transfers_ ? &*transfers_ : nullptr; }

 private:
  std::optional<ScratchFile> file_;
  std::optional<ScratchTransfers> transfers_;
};

}  // namespace

void check_latent(const Model& model, const Plan& plan, const Array& latent) {
  const Extent extent =
      latent_extent(model, plan.request.width_pixels, plan.request.height_pixels, plan.request.frames);
  const std::vector<int64_t> expected = latent_shape(model, extent, plan.request.batch);
  std::vector<int64_t> found = latent.shape;
  if (extent.t == 1 && found.size() == 5 && found[2] == 1) found.erase(found.begin() + 2);
  if (found == expected) return;
  const auto text = [](const std::vector<int64_t>& shape) {
    std::string joined;
    for (int64_t length : shape) joined += (joined.empty() ? "" : "x") + std::to_string(length);
    return joined;
  };
  throw InputError("latent: expected shape " + text(expected) + " as planned, found " + text(latent.shape));
}

void start_libraries(int threads) {
  setenv("MKL_DISABLE_FAST_MM", "1", 0);  // MKL hands its buffers back after each call
  mallopt(M_ARENA_MAX, 1);                // all threads share one heap: what one frees serves the others
  if (threads > 0) at::set_num_threads(threads);
  const c10::InferenceMode inference;
  const Region region{{0, 1}, {1, 33}, {1, 33}};
  Tile input = make_tile({{0, 1}, {0, 34}, {0, 34}}, 32, 1);
  input.values.zero_();
  const KernelShape shape{32, 32, 3, 3};
  const at::Tensor kernel = at::zeros({shape.floats(ConvolutionAlgorithm::winograd)}, at::kFloat);
  for (ConvolutionAlgorithm form : {ConvolutionAlgorithm::direct, ConvolutionAlgorithm::winograd}) {
    convolve(input.view(), {shape, form, kernel.const_data_ptr<float>()}, kernel.const_data_ptr<float>(),
             make_tile(region, 32, 1).view(), region, 1);
  }
}

std::string library_versions() {
  return std::string("Headroom ") + HEADROOM_VERSION + " for " + kernels::fastest_loops().name +
         ", LibTorch " + TORCH_VERSION;
}

std::string device_name() {
  std::ifstream in("/proc/cpuinfo");
  std::string line, name = "CPU";
  while (std::getline(in, line)) {
    if (line.rfind("model name", 0) != 0) continue;
    name = line.substr(line.find(':') + 2);
    break;
  }
  return name + ", " + std::to_string(at::get_num_threads()) + " threads";
}

int threads_in_use() {
  return at::get_num_threads();
}

DecodeSession::DecodeSession(const Model& model, const ParameterSource& weights, const PoolSize& size,
                             std::function<void(double)> loading)
    : model_(model),
      source_(weights),
      loading_(std::move(loading)),
      resident_before_(headroom::resident_bytes()),
      pool_(size.limit_bytes, size.resident_goal_bytes),
      scope_(pool_) {}

const Weights& DecodeSession::load_weights() {
  if (weights_) return *weights_;
  try {
    return weights_.emplace(model_.graph, all_operations(model_.graph), ConvolutionAlgorithm::direct, source_,
                            loading_);
  } catch (const LimitExceeded& refused) {
    throw LimitExceeded(std::string("loading the weights: ") + refused.what());
  }
}

RunStats DecodeSession::decode(const Plan& plan, const Array& latent, PictureSink& sink, EventSink* events) {
  if (plan.request.device != DeviceKind::cpu)
    throw InputError("the plan is for another device than the others: expected one for the CPU");
  check_latent(model_, plan, latent);
  check_places(model_.graph, plan);
  check_blocks(model_.graph, plan);
  Scratch scratch(model_.graph, plan);
  const c10::InferenceMode inference;
  reset_peak_resident();
  pool_.restart_peak();
  const auto start = std::chrono::steady_clock::now();

  RunStats stats;
  if (events != nullptr) {
    pool_.observe(events->memory_observer());
    events->allocating(AllocationKind::weights, TensorId{-1});
  }
  const bool per_pass = plan.weights == WeightResidency::per_pass;
  if (per_pass) weights_.reset();
  PlannedWeights weights(model_.graph, plan, source_, per_pass ? nullptr : &load_weights());
  for (const Pass& pass : plan.passes) {
    stats.passes.push_back({pass.name, pass.predicted_peak_bytes, 0, pass.predicted_seconds, 0});
  }
  for (int64_t item = 0; item < plan.request.batch; item += plan.micro_batch) {
    const Plan micro_batch = plan_of_micro_batch(plan, item);
    CpuDevice device(model_.graph, sizes_of(model_.graph, micro_batch), weights, pool_);
    Interpreter interpreter(model_, micro_batch, device, scratch.transfers(), events);
    interpreter.run(latent, item, sink);
    for (size_t i = 0; i < plan.passes.size(); ++i) {
      const PassMeasurement& measured = interpreter.measurements()[i];
      stats.passes[i].peak_bytes = std::max(stats.passes[i].peak_bytes, measured.peak_bytes);
      stats.passes[i].seconds += measured.seconds;
    }
  }
  stats.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  stats.limit_bytes = plan.limit_bytes;
  stats.predicted_peak_bytes = plan.predicted_peak_bytes;
  stats.predicted_seconds = plan.predicted_seconds;
  stats.pool_peak_bytes = pool_.peak_bytes();
  stats.rss_growth_bytes = std::max<int64_t>(0, headroom::peak_resident_bytes() - resident_before_);
  stats.outside_bytes = std::max<int64_t>(0, stats.rss_growth_bytes - pool_.peak_resident_bytes());
  stats.peak_bytes = stats.pool_peak_bytes + stats.outside_bytes;
  if (const ScratchTransfers* transfers = scratch.transfers()) {
    stats.scratch_written_bytes = transfers->written_bytes();
    stats.scratch_read_bytes = transfers->read_bytes();
    stats.transfer_wait_seconds = transfers->wait_seconds();
  }
  stats.device = device_name();
  stats.libraries = library_versions();
  stats.threads = at::get_num_threads();
  // What the pool has taken so far is enough for what comes, or for as much of it as was no larger.
  pool_.hold_resident(pool_.peak_resident_bytes());
  return stats;
}

int64_t DecodeSession::outside_growth_bytes() const {
  return headroom::resident_bytes() - resident_before_ - pool_.resident_bytes();
}

RunStats decode(const Model& model, const Plan& plan, const ParameterSource& weights, const Array& latent,
                PictureSink& sink, EventSink* events, const std::function<void(double)>& loading,
                gpu::Gpu* gpu) {
  if (plan.request.device == DeviceKind::cuda) {
    const std::unique_ptr<gpu::Gpu> opened = gpu == nullptr ? gpu::open_gpu() : nullptr;
    return decode_on_gpu(gpu == nullptr ? *opened : *gpu, model, plan, weights, latent, sink, events,
                         loading);
  }
  const PoolSize size{plan.limit_bytes - plan.reserve_bytes, plan.predicted_peak_bytes - plan.reserve_bytes};
  return DecodeSession(model, weights, size, loading).decode(plan, latent, sink, events);
}

}  // namespace headroom
