#include "profiler/measure/cpu_benchmark.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "decoder/cpu/tile.h"
#include "decoder/graph/graph.h"
#include "decoder/operations/operation.h"
#include "decoder/plan/sizes.h"
#include "decoder/schedule/memory.h"
#include "decoder/schedule/storage.h"

namespace headroom::profiler {

CpuBenchmark::CpuBenchmark(const Graph& graph, const Plan& plan, const ParameterSource& weights, Clock clock,
                           double target_error)
    : graph_(graph),
      plan_(plan),
      weights_(weights),
      clock_(std::move(clock)),
      target_error_(target_error),
      pool_(int64_t{1} << 40),
      operands_(pool_, sizes_of(graph, plan).dtype) {}

CpuBenchmark::Prepared::Prepared(CpuBenchmark& benchmark, OpId id, ConvolutionAlgorithm chosen)
    : op(id),
      algorithm(chosen),
      weights(benchmark.pool_, benchmark.graph_, {id}, chosen, benchmark.weights_),
      planned(benchmark.pool_, benchmark.graph_, benchmark.plan_, benchmark.weights_, &weights),
      device(benchmark.graph_, sizes_of(benchmark.graph_, benchmark.plan_), planned, benchmark.pool_),
      calls(benchmark.graph_, device, benchmark.operands_) {
  const Extent latent = sizes_of(benchmark.graph_, benchmark.plan_).latent;
  const Op& made = benchmark.graph_.op(id);
  if (takes_statistics(made.kind)) calls.prepare_statistics(made, latent);
  for (TensorId input : made.inputs) {
    if (benchmark.graph_.tensor(input).statistics)
      calls.prepare_statistics(*benchmark.graph_.producer(input), latent);
  }
}

Call CpuBenchmark::operation_call(const Op& op, ConvolutionAlgorithm algorithm, int64_t rows,
                                  int64_t columns) {
  const OpId id = graph_.tensor(op.output).producer;
  if (!prepared_ || prepared_->op != id || prepared_->algorithm != algorithm) {
    prepared_.reset();
    prepared_ = std::make_shared<Prepared>(*this, id, algorithm);
  }
  Call call = prepared_->calls.operation(op, rows, columns);
  // Keeps the device alive as long as the call.
  call.run = [prepared = prepared_, run = std::move(call.run)] { run(); };
  return call;
}

Call CpuBenchmark::moving_call(const std::string& step, int64_t channels, int64_t rows, int64_t columns) {
  if (!prepared_) prepared_ = std::make_shared<Prepared>(*this, OpId{0}, ConvolutionAlgorithm::direct);
  Call call = prepared_->calls.moving(step, channels, rows, columns);
  call.run = [prepared = prepared_, run = std::move(call.run)] { run(); };
  return call;
}

Estimate CpuBenchmark::seconds(const Call& call) {
  CallTimes times(target_error_);
  while (!times.enough()) {
    const double start = clock_();
    call.run();
    times.add(clock_() - start);
  }
  // The median, not the minimum: a decode makes each call only once.
  return times.estimate();
}

namespace {

constexpr int64_t kBeyondCpuCacheBytes = int64_t{96} << 20;

}  // namespace

CpuOperands::CpuOperands(LimitedPool& pool, Dtype dtype)
    : pool_(pool), dtype_(dtype), cold_buffer_(dtype, kBeyondCpuCacheBytes, [&pool, dtype](int64_t values) {
        return filled_buffer(pool, values, dtype);
      }) {}

DeviceTile CpuOperands::tile(const Region& region, int64_t channels) {
  const Tile tile = filled_tile(pool_, region, channels);
  return {tile.view(), tile.values};
}

KeptMap CpuOperands::blocks(int64_t positions, int64_t channels) {
  const int64_t row_bytes = channels * bytes_per_element(dtype_);
  const int64_t rows = std::clamp<int64_t>(MemoryModel{}.block_bytes / row_bytes, 1, positions);
  KeptMap map(KeptTensor{.block_rows = rows}, whole({1, positions, 1}), channels, 1, dtype_,
              [&pool = pool_](size_t, int64_t bytes, const InSeries&) { return pool.take(bytes); });
  map.acquire({0, map.view().blocks_per_item});
  const std::shared_ptr<void> values = filled_buffer(pool_, rows * channels, dtype_);
  for (void* block : map.view().blocks)
    std::memcpy(block, values.get(), static_cast<size_t>(rows * row_bytes));
  return map;
}

int64_t CpuOperands::tile_bytes(int64_t values) const {
  return cpu_storage().allocated_bytes(values * int64_t{sizeof(float)});
}

}  // namespace headroom::profiler
