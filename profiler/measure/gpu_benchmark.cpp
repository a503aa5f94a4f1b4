#include "profiler/measure/gpu_benchmark.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/cpu/loops/storage.h"
#include "decoder/graph/geometry.h"
#include "decoder/interpreter/kept_blocks.h"
#include "decoder/operations/operation.h"
#include "decoder/schedule/gpu_layout.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"
#include "profiler/measure/measure_latency.h"

namespace headroom::profiler {
namespace {

constexpr double kBatchSeconds = 5e-3;
constexpr int64_t kMostCallsOfBatch = 4096;
constexpr int kBatches = 3;
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
}

Call GpuBenchmark::operation_call(const Op& op, ConvolutionAlgorithm, int64_t rows, int64_t columns) {
  return calls_->operation(op, rows, columns);
}

Call GpuBenchmark::moving_call(const std::string& step, int64_t channels, int64_t rows, int64_t columns) {
  return calls_->moving(step, channels, rows, columns);
}

Estimate GpuBenchmark::seconds(const Call& call) {
  batch_seconds(call, 1);  // warm-up: libraries select an algorithm
  int64_t calls = 1;
  double spent = batch_seconds(call, calls);
  while (spent < kBatchSeconds && calls < kMostCallsOfBatch) {
    const auto enough = static_cast<int64_t>(kBatchSeconds * double(calls) / std::max(spent, 1e-9)) + 1;
    calls = std::min(kMostCallsOfBatch, std::max(2 * calls, enough));
    spent = batch_seconds(call, calls);
  }
  std::vector<double> seconds{spent / double(calls)};
  while (seconds.size() < kBatches) seconds.push_back(batch_seconds(call, calls) / double(calls));
  return estimate_of(seconds);
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

namespace {

constexpr int64_t kDrawn = int64_t{1} << 20;  // values
/// Larger than any card's caches.
constexpr int64_t kBeyondGpuCacheBytes = int64_t{256} << 20;

}  // namespace

GpuOperands::GpuOperands(GpuDevice& device, Dtype dtype, int64_t cold_values, PinnedStaging& staging)
    : device_(device),
      dtype_(dtype),
      staging_(staging),
      drawn_(device.allocate(kDrawn * bytes_per_element(dtype), {})),
      cold_buffer_(dtype, kBeyondGpuCacheBytes, [this](int64_t values) { return take(values); }) {
  std::vector<float> values(kDrawn);
  profiler::fill(values.data(), kDrawn);
  std::byte* through = staging_.next();
  kernels::narrow(dtype_, values.data(), through, kDrawn);
  staging_.gpu().copy(gpu::Stream::compute, drawn_.get(), through, kDrawn * bytes_per_element(dtype_));
  staging_.used();
  cold_buffer_.hold(cold_values);
}

std::shared_ptr<void> GpuOperands::take(int64_t values) {
  const int64_t bytes = values * bytes_per_element(dtype_);
  std::shared_ptr<void> memory = device_.allocate(bytes, {});
  fill(memory.get(), bytes);
  return memory;
}

void GpuOperands::fill(void* memory, int64_t bytes) {
  const int64_t chunk = kDrawn * bytes_per_element(dtype_);
  for (int64_t at = 0; at < bytes; at += chunk) {
    staging_.gpu().copy(gpu::Stream::compute, static_cast<std::byte*>(memory) + at, drawn_.get(),
                        std::min(chunk, bytes - at));
  }
}

DeviceTile GpuOperands::tile(const Region& region, int64_t channels) {
  const int64_t values = positions(extent_of(region)) * channels;
  if (values > gpu::kMostTileValues) {
    throw DoesNotFit("--sizes: latency tables up to these sizes need a tile of " + std::to_string(values) +
                         " values, on cuda at most " + std::to_string(gpu::kMostTileValues) +
                         "; profile smaller sizes",
                     0);
  }
  DeviceTile made = device_.make_tile(region, channels, 1);
  fill(made.view.blocks[0], values * bytes_per_element(dtype_));
  return made;
}

KeptMap GpuOperands::blocks(int64_t positions, int64_t channels) {
  const int64_t row_bytes = channels * bytes_per_element(dtype_);
  const int64_t least_rows = (positions + gpu::kMostBlocks - 1) / gpu::kMostBlocks;
  const int64_t rows =
      std::min(positions, std::max(least_rows, std::max<int64_t>(1, MemoryModel{}.block_bytes / row_bytes)));
  KeptMap map(KeptTensor{.block_rows = rows}, whole({1, positions, 1}), channels, 1, dtype_,
              [this](size_t, int64_t bytes, const InSeries&) { return device_.allocate(bytes, {}); });
  map.acquire({0, map.view().blocks_per_item});
  for (void* block : map.view().blocks) fill(block, rows * row_bytes);
  return map;
}

int64_t GpuOperands::tile_bytes(int64_t values) const {
  return gpu_storage().allocated_bytes(values * bytes_per_element(dtype_));
}

}  // namespace headroom::profiler
