#pragma once

#include <cudnn.h>

#include <vector>

#include "decoder/gpu/cuda/cudnn_plans.h"
#include "decoder/gpu/cuda/library_calls/convolution_chunks.h"

namespace headroom::gpu {

/// Convolutions by cuDNN, on the handle's stream.
class CudnnConvolution {
 public:
  /// The handle has to outlive this.
  explicit CudnnConvolution(cudnnHandle_t handle) : handle_(handle), plans_(handle) {}

  /// Starts what cuDNN can do of a call within its workspace; returns what is left of its region.
  std::vector<Box> convolve(const Convolve& call);

 private:
  cudnnHandle_t handle_;
  CudnnPlans plans_;
};

}  // namespace headroom::gpu
