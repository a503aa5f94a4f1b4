#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "decoder/cpu/packed_weights.h"
#include "decoder/gpu/calls/gpu.h"
#include "decoder/graph/model.h"
#include "profiler/measure/benchmark.h"
#include "profiler/profile/profile.h"

namespace headroom::profiler {

/// Settings of a profiling run.
struct ProfileRequest {
  std::string model;                                 ///< the --model argument
  std::vector<std::pair<int64_t, int64_t>> sizes{};  ///< width and height of the pictures in pixels
  int64_t frames = 1;
  int64_t batch = 1;
  Dtype dtype = Dtype::fp32;  ///< of kept tensors
  Tf32 tf32{};                ///< only for fp32 on a GPU
  int repeats = 1;            ///< decodes of each size
  bool coarse = false;  ///< measures about every second point of the latency tables, and no tiled decode
  std::string weights_source;    ///< "files" or "random"
  std::string scratch_folder{};  ///< folder whose file write and read rates to measure; empty: none
};

/// Receives the share done, the estimated seconds left (0: unknown) and the name of the current measurement.
using ProfileProgress = std::function<void(double share, double seconds_left, const std::string& what)>;

/// Decodes a seeded latent untiled at each size, or encodes a seeded picture if the model is an encoder.
/// Records output bytes, live bytes, workspace and time of each layer, and the live tensors at each size's
/// peak. If a decode is repeated, each layer's shortest time counts. Afterwards measures the latency tables
/// of all calls up to the largest size. Runs on the CPU if `gpu` is null. Call start_libraries() first.
/// Throws InputError or DoesNotFit, before any measurement, if the GPU cannot decode a size untiled.
/// verdict_on() decides if the profile is precise enough for planning.
Profile collect_profile(const Model& model, const ProfileRequest& request, const ParameterSource& weights,
                        const ProfileProgress& progress, gpu::Gpu* gpu = nullptr,
                        const Clock& clock = steady_seconds);

}  // namespace headroom::profiler
