#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "decoder/gpu/calls/engine_runs.h"
#include "decoder/gpu/cuda/cudnn_plans.h"
#include "decoder/gpu/cuda/library_calls/convolution_chunks.h"

namespace headroom::gpu {

/// Convolutions by cuDNN, on the handle's stream.
class CudnnConvolution {
 public:
  /// The handle has to outlive this.
  explicit CudnnConvolution(cudnnHandle_t handle) : handle_(handle), plans_(handle) {}

  /// Starts the parts of a call that cuDNN can run within the workspace. Returns the boxes of the region that
  /// it left out.
  std::vector<Box> convolve(const Convolve& call);

  /// Runs of each engine since restart_counts().
  std::vector<EngineRuns> engine_runs() const;
  void restart_counts() { runs_.clear(); }

 private:
  cudnnHandle_t handle_;
  CudnnPlans plans_;
  std::map<std::pair<int64_t, bool>, int64_t> runs_;  ///< by engine number and EngineRuns::compiled
};

}  // namespace headroom::gpu
