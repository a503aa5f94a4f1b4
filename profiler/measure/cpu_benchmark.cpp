#include "profiler/measure/cpu_benchmark.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "decoder/cpu/convolution.h"
#include "decoder/graph/graph.h"
#include "decoder/operations/operation.h"
#include "decoder/plan/sizes.h"
#include "profiler/measure/operands.h"
#include "profiler/measure/precision.h"

namespace headroom::profiler {
namespace {

constexpr int kReferenceCalls = 3;
constexpr int64_t kSide = 32;
constexpr KernelShape kShape{.inputs = 64, .outputs = 64, .rows = 3, .columns = 3};

}  // namespace

CpuBenchmark::CpuBenchmark(const Graph& graph, const Plan& plan, const ParameterSource& weights, Clock clock,
                           double target_error)
    : graph_(graph),
      plan_(plan),
      weights_(weights),
      clock_(std::move(clock)),
      target_error_(target_error),
      pool_(int64_t{1} << 40),
      operands_(pool_, sizes_of(graph, plan).dtype),
      input_(filled_tile(pool_, {{0, 1}, {-1, kSide + 1}, {-1, kSide + 1}}, kShape.inputs)),
      output_(filled_tile(pool_, region_of(kSide, kSide), kShape.outputs)),
      kernel_(filled(pool_, kShape.floats(ConvolutionAlgorithm::direct))),
      bias_(filled(pool_, kShape.outputs)) {
  reference_seconds();  // starts all threads
  waits_.follow();
}

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

double CpuBenchmark::seconds(const Call& call) {
  CallTimes times(target_error_);
  while (!times.enough()) {
    const double start = clock_();
    call.run();
    times.add(clock_() - start);
  }
  // The median, not the minimum: a decode makes each call only once.
  return times.seconds();
}

double CpuBenchmark::reference_seconds() {
  double quickest = std::numeric_limits<double>::infinity();
  for (int call = 0; call < kReferenceCalls; ++call) {
    const double start = clock_();
    convolve(pool_, {input_.view(),
                     {kShape, ConvolutionAlgorithm::direct, kernel_.get(), bias_.get()},
                     output_.view(),
                     output_.region});
    quickest = std::min(quickest, clock_() - start);
  }
  return quickest;
}

}  // namespace headroom::profiler
