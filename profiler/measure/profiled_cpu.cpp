#include <algorithm>
#include <chrono>

#include "decoder/base/os/process.h"
#include "decoder/cpu/limited_pool.h"
#include "decoder/cpu/threads.h"
#include "decoder/schedule/storage.h"
#include "decoder/session/environment.h"
#include "decoder/session/session.h"
#include "profiler/measure/cpu_benchmark.h"
#include "profiler/measure/profiled_device.h"

namespace headroom::profiler {
namespace {

struct LoadingRates {
  double direct_bytes_per_second = 0;     ///< from the source into the pool
  double transform_bytes_per_second = 0;  ///< packing Winograd kernels, in packed bytes
};

LoadingRates loading_rates(const Graph& graph, const ParameterSource& source) {
  using Clock = std::chrono::steady_clock;
  LimitedPool pool(int64_t{1} << 40);
  const auto rate = [](int64_t bytes, Clock::time_point start) {
    return double(bytes) / std::max(1e-9, std::chrono::duration<double>(Clock::now() - start).count());
  };
  LoadingRates rates;
  auto start = Clock::now();
  const Weights direct(pool, graph, all_operations(graph), ConvolutionAlgorithm::direct, source);
  rates.direct_bytes_per_second = rate(resident_weights_bytes(graph, {}), start);
  // One kernel at a time, as passes do. After the first, the pages are already resident.
  std::vector<double> seen;
  for (OpId op : all_operations(graph)) {
    if (!has_winograd(graph, op)) continue;
    start = Clock::now();
    const Weights winograd(pool, graph, {op}, ConvolutionAlgorithm::winograd, direct);
    seen.push_back(rate(kernel_shape(graph, graph.op(op)).floats(ConvolutionAlgorithm::winograd) * 4, start));
  }
  if (seen.empty()) return rates;
  std::sort(seen.begin(), seen.end());
  rates.transform_bytes_per_second = seen[seen.size() / 2];
  return rates;
}

class ProfiledCpu final : public ProfiledDevice {
 public:
  explicit ProfiledCpu(const Profiled& profiled) : profiled_(profiled) {}

  void describe(Profile& profile) override {
    const Graph& graph = profiled_.model.graph;
    profile.device = device_name();
    profile.libraries = library_versions();
    profile.threads = thread_count();
    profile.weights_bytes = resident_weights_bytes(graph, {});
    const LoadingRates rates = loading_rates(graph, profiled_.weights);
    profile.weights_bytes_per_second = rates.direct_bytes_per_second;
    profile.transform_bytes_per_second = rates.transform_bytes_per_second;
    waits_.follow();  // packing has started all threads
  }
  StepTimer& timer() override { return timer_; }
  RunStats decode(size_t plan, const Array& latent, const PictureShape& shape, EventSink& events) override {
    DiscardingSink sink(shape);
    return headroom::decode(profiled_.model, profiled_.plans[plan], profiled_.weights, latent, sink, &events);
  }
  double waited_seconds() const override { return waits_.seconds(); }
  std::unique_ptr<Benchmark> benchmark(Clock clock, double target_error) override {
    return std::make_unique<CpuBenchmark>(profiled_.model.graph, profiled_.plans.front(), profiled_.weights,
                                          std::move(clock), target_error);
  }

 private:
  const Profiled profiled_;
  StepTimer timer_;
  ProcessorWaits waits_;
};

}  // namespace

std::unique_ptr<ProfiledDevice> profiled_cpu(const Profiled& profiled) {
  return std::make_unique<ProfiledCpu>(profiled);
}

}  // namespace headroom::profiler
