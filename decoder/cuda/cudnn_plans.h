#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decoder/cuda/convolution_parts.h"

namespace headroom::gpu {

/// A descriptor of cuDNN's graph API.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

/// An engine with its settings for one problem.
struct CudnnPlan {
  int64_t engine = -1;
  bool tensor_cores = false;
  int64_t workspace_bytes = 0;
  CudnnDescriptor configuration;
  CudnnDescriptor plan;  ///< made when it is first chosen
  bool refused = false;  ///< when it was to be made
};

/// What cuDNN offers for convolutions whose bias is added before the sum is rounded: arithmetic in fp32,
/// without TF32, results that do not change from run to run. Nothing is measured and nothing allocated:
/// engines come in the order of cuDNN's heuristics, with their workspaces. Kept by problem, in host memory
/// alone.
class CudnnPlans {
 public:
  explicit CudnnPlans(cudnnHandle_t handle);
  /// For a device that need not be there, by its properties as cuDNN writes them. Such plans are not for
  /// running.
  explicit CudnnPlans(const std::string& device_properties);

  /// The first of the engines whose workspace is no larger; null where there is none.
  const CudnnPlan* find(const ConvolutionProblem& problem, int64_t workspace_bytes);
  /// How good that one is: poor where cuDNN would rather have tensor cores and cannot.
  ConvolutionEngine::Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes);

 private:
  /// Plans that are the first within some workspace, best first. cuDNN's last resorts take it long to name,
  /// so they are asked for when nothing else is left.
  struct Known {
    std::vector<CudnnPlan> plans;
    bool last_resorts = false;
  };
  std::vector<CudnnPlan> suggested(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) const;
  void list(const ConvolutionProblem& problem, cudnnBackendHeurMode_t mode,
            std::vector<CudnnPlan>& plans) const;
  const CudnnPlan* choose(std::vector<CudnnPlan>& plans, int64_t workspace_bytes) const;
  bool make(CudnnPlan& plan) const;

  cudnnHandle_t handle_ = nullptr;
  CudnnDescriptor device_;
  std::map<ConvolutionProblem, Known> known_;
};

/// Numbers of a plan's tensors where it is run.
enum CudnnTensor : int64_t { kCudnnInput = 1, kCudnnKernel, kCudnnBias, kCudnnOutput, kCudnnSum };

}  // namespace headroom::gpu
