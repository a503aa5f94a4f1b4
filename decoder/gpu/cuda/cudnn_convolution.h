#pragma once

#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "decoder/gpu/calls/gpu.h"
#include "decoder/gpu/cuda/cudnn_plans.h"
#include "decoder/gpu/cuda/library_calls/convolution_chunks.h"
#include "decoder/plan/engine_choice.h"

namespace headroom::gpu {

class CudnnEngineTimes;
/// Runs by engine number, EngineRuns::compiled and CudnnPlan::by_time.
using CudnnEngineRuns = std::map<std::tuple<int64_t, bool, bool>, int64_t>;

/// Convolutions by cuDNN, on the handle's stream.
class CudnnConvolution {
 public:
  /// The handle has to outlive this.
  explicit CudnnConvolution(cudnnHandle_t handle) : handle_(handle), plans_(handle) {}

  /// Starts the parts of a call that cuDNN can run within the workspace. Returns the boxes of the region that
  /// it left out.
  std::vector<Box> convolve(const Convolve& call);

  /// Both as in Gpu.
  std::vector<EngineChoice> time_engines(const std::function<void()>& work);
  void prefer_engines(const std::vector<EngineChoice>& choices);

  /// Runs of each engine since restart_counts().
  std::vector<EngineRuns> engine_runs() const;
  void restart_counts() { runs_.clear(); }

 private:
  cudnnHandle_t handle_;
  CudnnPlans plans_;
  CudnnEngineTimes* times_ = nullptr;  ///< set while time_engines() runs
  CudnnEngineRuns runs_;
};

/// A chunk's addresses as cuDNN takes them.
class CudnnRun {
 public:
  explicit CudnnRun(const ConvolutionChunk& chunk);
  /// Starts the chunk by a plan for its problem that fits its workspace, on the handle's stream.
  void start(cudnnHandle_t handle, const CudnnPlan& plan) const;

 private:
  CudnnDescriptor pack_;
};

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
