#include "profiler/measure/cpu_benchmark.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "decoder/cpu/convolution.h"
#include "profiler/measure/clock_drift.h"
#include "profiler/measure/cpu_calls.h"
#include "profiler/measure/filled.h"

namespace headroom::profiler {
namespace {

constexpr double kPointSeconds = 5e-3;  // of calls for one point in one sweep
constexpr size_t kMostCalls = 400;
constexpr double kTwiceSeconds =
    50e-3;  // a call this long is measured once in a sweep, others twice at least

constexpr int kReferenceCalls = 3;
constexpr int64_t kSide = 32;
constexpr KernelShape kShape{.inputs = 64, .outputs = 64, .rows = 3, .columns = 3};

}  // namespace

CpuBenchmark::CpuBenchmark(const Graph& graph, Dtype dtype, Clock clock)
    : clock_(std::move(clock)),
      pool_(int64_t{1} << 40),
      calls_(pool_, graph, dtype),
      input_(filled_tile(pool_, kSide + 2, kSide + 2, kShape.inputs)),
      output_(filled_tile(pool_, kSide, kSide, kShape.outputs)),
      kernel_(filled(pool_, kShape.floats(ConvolutionAlgorithm::direct))),
      bias_(filled(pool_, kShape.outputs)) {
  input_.region = {{0, 1}, {-1, kSide + 1}, {-1, kSide + 1}};
}

Call CpuBenchmark::operation_call(const Op& op, ConvolutionAlgorithm form, int64_t rows, int64_t columns) {
  return calls_.operation(op, form, rows, columns);
}

Call CpuBenchmark::moving_call(const std::string& step, int64_t channels, int64_t rows, int64_t columns) {
  return calls_.moving(step, channels, rows, columns);
}

double CpuBenchmark::seconds(const Call& call) {
  std::vector<double> seconds;
  double spent = 0;
  while (spent < kPointSeconds || (seconds.size() < 2 && spent < kTwiceSeconds)) {
    const double start = clock_();
    call.run();
    seconds.push_back(clock_() - start);
    spent += seconds.back();
    if (seconds.size() >= kMostCalls) break;
  }
  // Not the quickest: a decode makes each call as it comes.
  return median(std::move(seconds));
}

double CpuBenchmark::reference_seconds() {
  double quickest = std::numeric_limits<double>::infinity();
  for (int call = 0; call < kReferenceCalls; ++call) {
    const double start = clock_();
    convolve(pool_, input_.view(), {kShape, ConvolutionAlgorithm::direct, kernel_.get(), bias_.get()},
             output_.view(), output_.region, 1);
    quickest = std::min(quickest, clock_() - start);
  }
  return quickest;
}

}  // namespace headroom::profiler
