#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "decoder/cpu/packed_weights.h"
#include "decoder/files/array.h"
#include "decoder/files/picture_sink.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "decoder/plan/stats.h"
#include "profiler/measure/benchmark.h"
#include "profiler/measure/layer_recorder.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// Interface of a device for profiling.
class ProfiledDevice {
 public:
  virtual ~ProfiledDevice() = default;

  /// Fills in the profile's description of the device and its transfer rates.
  virtual void describe(Profile& profile) = 0;
  /// Times the engines that libraries offer for the convolutions of all plans. Empty on the CPU.
  virtual std::vector<EngineChoice> time_engines() { return {}; }
  virtual StepTimer& timer() = 0;
  /// Decodes with plan number `plan` and discards the picture. `events` receives the decode's events, with
  /// the timer's steps.
  virtual RunStats decode(size_t plan, const Array& latent, const PictureShape& shape, EventSink& events) = 0;
  /// Seconds since describe() that this process's threads have waited for processors that other programs
  /// held, summed over threads. 0 if unknown or if the device is not shared.
  virtual double waited_seconds() const { return 0; }
  /// Call it after the last decode. The device must outlive the benchmark. `target_error` applies
  /// to repeated calls if the device times them one by one.
  virtual std::unique_ptr<Benchmark> benchmark(Clock clock, double target_error) = 0;
};

/// Model and plans to profile. All references must outlive the device.
struct Profiled {
  const Model& model;
  const std::vector<Plan>& plans;
  const ParameterSource& weights;
  Dtype dtype = Dtype::fp32;
};
std::unique_ptr<ProfiledDevice> profiled_cpu(const Profiled& profiled);

/// Checks that all plans, and latency tables up to `latents`, fit on the card. Allocates nothing yet. Throws
/// InputError if a plan's tiles are too large for CUDA, or DoesNotFit. Both name the size.
std::unique_ptr<ProfiledDevice> profiled_gpu(const Profiled& profiled, const std::vector<Extent>& latents,
                                             gpu::Gpu& gpu, Clock clock);

}  // namespace headroom::profiler
