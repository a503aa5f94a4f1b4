#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/gpu/calls/open_gpu.h"
#include "decoder/gpu/memory/gpu_memory.h"
#include "decoder/gpu/transfers/gpu_weights.h"
#include "decoder/gpu/transfers/host_weights.h"
#include "decoder/schedule/build_plan.h"
#include "decoder/schedule/storage.h"
#include "decoder/session/gpu_session.h"
#include "decoder/validator/validator.h"
#include "profiler/measure/gpu_benchmark.h"
#include "profiler/measure/plan_engines.h"
#include "profiler/measure/profiled_device.h"

namespace headroom::profiler {
namespace {

// Transfer rates between host and GPU.
struct GpuRates {
  double weights_bytes_per_second = 0;    //< loading all parameters from host memory
  double to_host_bytes_per_second = 0;    //< GPU to pinned host memory, copies alone
  double from_host_bytes_per_second = 0;  //< pinned host memory to GPU
};

constexpr int64_t kCopied = int64_t{64} << 20;
constexpr int kCopies = 8;
constexpr double kLeastSeconds = 1e-9;

void wait(gpu::Gpu& gpu, gpu::Stream stream) {
  gpu.wait_on_host(gpu.record(stream));
}

/// Throughput of back-to-back copies. The first copy is a warm-up and does not count.
double copied_bytes_per_second(gpu::Gpu& gpu, gpu::Stream stream, std::byte* to, const std::byte* from,
                               const Clock& clock) {
  gpu.copy(stream, to, from, kCopied);
  wait(gpu, stream);
  const double start = clock();
  for (int i = 0; i < kCopies; ++i) gpu.copy(stream, to, from, kCopied);
  wait(gpu, stream);
  return double(kCopies * kCopied) / std::max(kLeastSeconds, clock() - start);
}

// Reserves GPU memory for the parameters while it measures, at least 64 MiB. Throws LimitExceeded.
GpuRates measure_gpu_rates(gpu::Gpu& gpu, const Graph& graph, Dtype dtype, const HostWeights& weights,
                           const Clock& clock) {
  const int64_t weights_bytes = resident_weights_bytes(graph, {kind_of(&gpu), dtype});
  const GpuReservation reservation(gpu, std::max(weights_bytes, kCopied));
  PinnedStaging staging(gpu);
  GpuRates rates;
  for (int run = 0; run < 2; ++run) {
    wait(gpu, gpu::Stream::compute);
    const double start = clock();
    const std::shared_ptr<void> memory(reservation.base(), [](void*) {});
    const GpuWeights loaded(graph, all_operations(graph), dtype, memory, {weights, staging});
    wait(gpu, gpu::Stream::compute);
    rates.weights_bytes_per_second = double(weights_bytes) / std::max(kLeastSeconds, clock() - start);
  }
  std::byte* const host = gpu.reserve_host(kCopied);
  gpu.wait(gpu::Stream::to_host, gpu.record(gpu::Stream::compute));
  rates.to_host_bytes_per_second =
      copied_bytes_per_second(gpu, gpu::Stream::to_host, host, reservation.base(), clock);
  gpu.wait(gpu::Stream::from_host, gpu.record(gpu::Stream::to_host));
  rates.from_host_bytes_per_second =
      copied_bytes_per_second(gpu, gpu::Stream::from_host, reservation.base(), host, clock);
  return rates;
}

std::string size_of(const Request& request) {
  return std::to_string(request.width_pixels) + "x" + std::to_string(request.height_pixels);
}

/// Times a step from one synchronization to the next, less the cost of an idle synchronization.
class GpuStepTimer final : public StepTimer {
 public:
  GpuStepTimer(gpu::Gpu& gpu, Clock clock) : gpu_(gpu), clock_(std::move(clock)) {
    constexpr int kWaits = 50;
    std::vector<double> waits;
    wait();
    for (int i = 0; i < kWaits; ++i) {
      start();
      wait();
      waits.push_back(clock_() - started_seconds_);
    }
    wait_seconds_ = median(std::move(waits));
  }
  void start() override { started_seconds_ = clock_(); }
  double seconds(const EventSink::StepDone&) override {
    wait();
    return std::max(0.0, clock_() - started_seconds_ - wait_seconds_);
  }

 private:
  void wait() { gpu_.wait_on_host(gpu_.record(gpu::Stream::compute)); }

  gpu::Gpu& gpu_;
  const Clock clock_;
  double started_seconds_ = 0, wait_seconds_ = 0;
};

class ProfiledGpu final : public ProfiledDevice {
 public:
  ProfiledGpu(const Profiled& profiled, const std::vector<Extent>& latents, gpu::Gpu& gpu, Clock clock)
      : profiled_(profiled), gpu_(gpu), clock_(clock), timer_(gpu, std::move(clock)) {
    const Model& model = profiled_.model;
    const int64_t free_bytes = gpu_.free_bytes();
    const auto check_fits = [&](const std::string& what, int64_t bytes) {
      if (bytes <= free_bytes) return;
      throw DoesNotFit(what + " take " + std::to_string(bytes) + " bytes of the GPU's memory, of which " +
                           std::to_string(free_bytes) + " are free; profile smaller sizes",
                       bytes);
    };
    for (const Plan& plan : profiled_.plans) {
      const std::string size = size_of(plan.request);
      require_valid(plan, model, size + ", untiled");
      dry_runs_.push_back(run_dry(model, plan));
      bytes_ = std::max(bytes_, dry_runs_.back().bytes());
      check_fits(size + ": untiled decodes", dry_runs_.back().bytes());
    }
    Request one = profiled_.plans.front().request;
    one.batch = 1;
    plan_of_one_ = untiled_plan(model, one);
    need_ = GpuBenchmark::need(model.graph, plan_of_one_, latents);
    check_fits("--sizes: latency tables up to these sizes", need_.bytes);
  }

  void describe(Profile& profile) override {
    const Graph& graph = profiled_.model.graph;
    weights_ = held(graph, host_weights(graph, profiled_.weights), {});
    profile.device = gpu_.device();
    profile.libraries = gpu_.libraries();
    profile.threads = 1;
    profile.weights_bytes = resident_weights_bytes(graph, {kind_of(&gpu_), profiled_.dtype});
    const GpuRates rates = measure_gpu_rates(gpu_, graph, profiled_.dtype, weights_, clock_);
    profile.weights_bytes_per_second = rates.weights_bytes_per_second;
    profile.to_host_bytes_per_second = rates.to_host_bytes_per_second;
    profile.from_host_bytes_per_second = rates.from_host_bytes_per_second;
  }
  std::vector<EngineChoice> time_engines() override {
    return time_plan_engines(profiled_.model, profiled_.plans, profiled_.weights, gpu_);
  }
  StepTimer& timer() override { return timer_; }
  /// Decodes twice: once undisturbed for the total time, once with a synchronization after each step.
  RunStats decode(size_t plan, const Array& latent, const PictureShape& shape, EventSink& events) override {
    if (!session_)
      session_.emplace(SessionRequest{profiled_.model, profiled_.weights, profiled_.plans}, gpu_);
    const auto run = [&](EventSink* observer) {
      DiscardingSink sink(shape);
      return session_->decode(plan, latent, sink, observer);
    };
    RunStats stats = run(nullptr);
    run(&events);
    return stats;
  }
  std::unique_ptr<Benchmark> benchmark(Clock clock, double) override {
    session_.reset();
    return std::make_unique<GpuBenchmark>(profiled_.model.graph, plan_of_one_, need_, weights_, gpu_,
                                          std::move(clock));
  }

 private:
  const Profiled profiled_;
  gpu::Gpu& gpu_;
  const Clock clock_;
  GpuStepTimer timer_;
  std::vector<DryRun> dry_runs_;  ///< by plan
  int64_t bytes_ = 0;             ///< bytes of the largest plan
  Plan plan_of_one_;              ///< untiled plan for one item
  GpuBenchmark::Need need_;
  HostWeights weights_;
  std::optional<GpuSession> session_;
};

}  // namespace

std::unique_ptr<ProfiledDevice> profiled_gpu(const Profiled& profiled, const std::vector<Extent>& latents,
                                             gpu::Gpu& gpu, Clock clock) {
  return std::make_unique<ProfiledGpu>(profiled, latents, gpu, std::move(clock));
}

}  // namespace headroom::profiler
