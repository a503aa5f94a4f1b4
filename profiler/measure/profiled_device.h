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
#include "profiler/measure/clock.h"
#include "profiler/measure/layer_recorder.h"
#include "profiler/measure/operator_benchmark.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// Operations that profiling needs of a device.
class ProfiledDevice {
 public:
  virtual ~ProfiledDevice() = default;

  /// Fills in what the profile says of the device, and how fast bytes come onto it.
  virtual void describe(Profile& profile) = 0;
  virtual StepTimer& timer() = 0;
  /// By the plan of this number, to a picture of this shape, which is dropped. `events` receives what is
  /// done, with the timer's steps.
  virtual RunStats decode(size_t plan, const Array& latent, const PictureShape& shape, EventSink& events) = 0;
  /// As Benchmark::waited_seconds().
  virtual double waited_seconds() const { return 0; }
  /// On a GPU after the last decode. The benchmark must not outlive the device. `target_error` is that of
  /// calls in a row, where they are timed one by one.
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

/// Looks first whether all plans, and latency tables up to `latents`, have room on the card; takes nothing
/// yet. Throws InputError where a plan's tiles are too large for CUDA, and DoesNotFit, each naming the size.
std::unique_ptr<ProfiledDevice> profiled_gpu(const Profiled& profiled, const std::vector<Extent>& latents,
                                             gpu::Gpu& gpu, Clock clock);

}  // namespace headroom::profiler
