#pragma once

#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <array>
#include <map>
#include <vector>

#include "decoder/gpu/cuda/cudnn_plans.h"
#include "decoder/plan/engine_choice.h"

namespace headroom::gpu {

/// Times cuDNN's engines for convolutions, by events on the handle's stream.
class CudnnEngineTimes {
 public:
  /// Both must outlive this.
  CudnnEngineTimes(cudnnHandle_t handle, const CudnnPlans& plans);
  ~CudnnEngineTimes();
  CudnnEngineTimes(const CudnnEngineTimes&) = delete;
  CudnnEngineTimes& operator=(const CudnnEngineTimes&) = delete;

  /// Runs a chunk many times by each engine that fits its workspace, if its problem is new.
  void time(const ConvolutionChunk& chunk);
  /// The fastest engine of each problem.
  std::vector<EngineChoice> choices() const;

 private:
  void clear(const ConvolutionChunk& chunk) const;

  cudnnHandle_t handle_;
  const CudnnPlans& plans_;
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, 2> events_{};  ///< begin and end of a measurement
  std::map<ConvolutionProblem, EngineChoice> choices_;
};

}  // namespace headroom::gpu
