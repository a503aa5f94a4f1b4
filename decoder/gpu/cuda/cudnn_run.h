#pragma once

#include <cudnn.h>

#include "decoder/gpu/cuda/cudnn_plans.h"

namespace headroom::gpu {

/// A chunk's addresses as cuDNN takes them.
class CudnnRun {
 public:
  explicit CudnnRun(const ConvolutionChunk& chunk);
  /// Starts the chunk by a plan for its problem that fits its workspace, on the handle's stream.
  void start(cudnnHandle_t handle, const CudnnPlan& plan) const;

 private:
  CudnnDescriptor pack_;
};

}  // namespace headroom::gpu
