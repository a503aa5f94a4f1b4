#include "profiler/measure/gpu_benchmark.h"

#include <algorithm>
#include <utility>

#include "decoder/graph/geometry.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/weights_bytes.h"
#include "profiler/measure/measure_latency.h"

namespace headroom::profiler {
namespace {

constexpr double kBatchSeconds = 5e-3;
constexpr int64_t kMostCallsOfBatch = 4096;
constexpr int64_t kReferenceSide = 64;
constexpr int64_t kNoEnd = int64_t{1} << 60;

int64_t most_values(const Graph& graph, const std::vector<Extent>& latents) {
  int64_t most = 0;
  for (const Tensor& tensor : graph.tensors()) {
    Extent whole{0, 0, 0};
    for (const Extent& latent : latents) {
      const Extent extent = extent_of(tensor, latent);
      whole = {std::max(whole.t, extent.t), std::max(whole.y, extent.y), std::max(whole.x, extent.x)};
    }
    if (!tensor.statistics) most = std::max(most, positions(whole) * tensor.channels);
  }
  return most;
}

/// The convolution with the most FLOPs per position.
const Op& heaviest(const Graph& graph, const Extent& latent) {
  return *std::max_element(graph.ops().begin(), graph.ops().end(), [&](const Op& a, const Op& b) {
    const auto flops = [&](const Op& op) {
      return op.kind == OpKind::conv ? flops_per_position(graph, op, latent) : 0.0;
    };
    return flops(a) < flops(b);
  });
}

}  // namespace

GpuBenchmark::Need GpuBenchmark::need(const Graph& graph, const Plan& plan,
                                      const std::vector<Extent>& latents) {
  Need need{0, most_values(graph, latents)};
  DryGpu gpu;
  GpuBenchmark dry_run(graph, plan, need.cold_values, gpu);
  run_dry_latency_tables(graph, latents, dry_run);
  need.bytes = dry_run.memory_->most_bytes();
  return need;
}

GpuBenchmark::GpuBenchmark(const Graph& graph, const Plan& plan, int64_t cold_values, DryGpu& gpu)
    : graph_(graph),
      plan_(plan),
      gpu_(gpu),
      weights_source_(no_host_weights()),
      staging_(gpu),
      memory_(std::make_shared<GpuMemory>(kNoEnd)) {
  prepare(cold_values);
}

GpuBenchmark::GpuBenchmark(const Graph& graph, const Plan& plan, const Need& need, const HostWeights& weights,
                           gpu::Gpu& gpu, Clock clock)
    : graph_(graph),
      plan_(plan),
      gpu_(gpu),
      clock_(std::move(clock)),
      weights_source_(weights),
      reservation_(std::in_place, gpu, need.bytes),
      staging_(gpu),
      memory_(std::make_shared<GpuMemory>(reservation_->base(), need.bytes)) {
  prepare(need.cold_values);
}

void GpuBenchmark::prepare(int64_t cold_values) {
  const Sizes sizes = sizes_of(graph_, plan_);
  auto parameters = memory_->allocate(resident_weights_bytes(graph_, sizes.storage()));
  weights_.emplace(graph_, all_operations(graph_), sizes.dtype, std::move(parameters),
                   GpuWeights::Loading{weights_source_, staging_});
  device_.emplace(graph_, plan_, *memory_, WeightSource{weights_source_, &*weights_}, staging_);
  operands_.emplace(*device_, sizes.dtype, cold_values, staging_);
  calls_.emplace(graph_, *device_, *operands_);
  for (const Op& op : graph_.ops()) {
    if (takes_statistics(op.kind)) calls_->prepare_statistics(op, sizes.latent);
  }
  // Each pass start computes scales and shifts that the calls read.
  for (size_t pass = 0; pass < plan_.passes.size(); ++pass) device_->begin_pass(pass);
  const Op& op = heaviest(graph_, sizes.latent);
  const Extent whole = extent_of(graph_.tensor(op.output), sizes.latent);
  reference_ = operation_call(op, ConvolutionAlgorithm::direct, std::min(kReferenceSide, whole.y),
                              std::min(kReferenceSide, whole.x));
  reference_.run();
}

Call GpuBenchmark::operation_call(const Op& op, ConvolutionAlgorithm, int64_t rows, int64_t columns) {
  return calls_->operation(op, rows, columns);
}

Call GpuBenchmark::moving_call(const std::string& step, int64_t channels, int64_t rows, int64_t columns) {
  return calls_->moving(step, channels, rows, columns);
}

double GpuBenchmark::seconds(const Call& call) {
  batch_seconds(call, 1);  // warm-up: libraries select an algorithm
  int64_t calls = 1;
  double spent = batch_seconds(call, calls);
  while (spent < kBatchSeconds && calls < kMostCallsOfBatch) {
    const auto enough = static_cast<int64_t>(kBatchSeconds * double(calls) / std::max(spent, 1e-9)) + 1;
    calls = std::min(kMostCallsOfBatch, std::max(2 * calls, enough));
    spent = batch_seconds(call, calls);
  }
  return spent / double(calls);
}

double GpuBenchmark::batch_seconds(const Call& call, int64_t calls) {
  wait();
  const double start = clock_();
  for (int64_t i = 0; i < calls; ++i) call.run();
  if (call.finish) call.finish();
  wait();
  return clock_() - start;
}

void GpuBenchmark::wait() {
  gpu_.wait_on_host(gpu_.record(gpu::Stream::compute));
}

}  // namespace headroom::profiler
