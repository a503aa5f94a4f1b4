#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "decoder/cpu/packed_weights.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "profiler/measure/clock.h"
#include "profiler/measure/measure_latency.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// Settings of a profiling run.
struct ProfileRequest {
  std::string model;                                 ///< the --model argument
  std::vector<std::pair<int64_t, int64_t>> sizes{};  ///< pictures, width and height in pixels
  int64_t frames = 1;
  int64_t batch = 1;
  Dtype dtype = Dtype::fp32;  ///< of kept tensors
  int repeats = 1;            ///< decodes of each size
  LatencyEffort effort{};
  std::string weights_source;    ///< "files" or "random"
  std::string scratch_folder{};  ///< measure how fast files there are written and read; empty to leave it
};

/// Receives the share done, about how many seconds are left (0: nobody knows), and what is being measured.
using ProfileProgress = std::function<void(double share, double seconds_left, const std::string& what)>;

/// Decodes a seeded latent layer by layer, untiled, at each size and records per layer its output bytes, the
/// bytes live, the workspace and the time; for each size the live set at the peak. Of the repeats the
/// shortest time of each layer counts. Then measures the latency tables of all calls up to the largest size,
/// all on the CPU where `gpu` is null. start_libraries() first. Throws InputError and DoesNotFit, before
/// anything is measured, where a size cannot be decoded untiled on the GPU. Whether the profile is good
/// enough to plan by, verdict_on() says.
Profile collect_profile(const Model& model, const ProfileRequest& request, const ParameterSource& weights,
                        const ProfileProgress& progress, gpu::Gpu* gpu = nullptr,
                        const Clock& clock = steady_seconds);

}  // namespace headroom::profiler
