#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "decoder/gpu/cuda/library_calls/convolution_chunks.h"
#include "decoder/gpu/cuda/plan_choice.h"

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
struct CudnnPlan : EngineOffer {
  int64_t engine = -1;
  CudnnDescriptor configuration;
  CudnnDescriptor plan;  ///< made when it is first chosen
};

/// cuDNN's engines for convolutions that add the bias before they round the sum. They compute in fp32 without
/// TF32, and their results do not change from run to run. Nothing is measured and nothing allocated: engines
/// come in the order of cuDNN's heuristics, with their workspaces (plan_choice.h). Plans are kept by problem,
/// in host memory alone.
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
  class Offers;
  std::vector<CudnnPlan> suggested(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) const;
  std::vector<CudnnPlan> offers(const ConvolutionProblem& problem, cudnnBackendHeurMode_t mode) const;
  bool make(CudnnPlan& plan) const;

  cudnnHandle_t handle_ = nullptr;
  CudnnDescriptor device_;
  std::map<ConvolutionProblem, PlanChoice<CudnnPlan>> known_;
};

/// Numbers of a plan's tensors where it is run.
enum CudnnTensor : int64_t {
  kCudnnInput = 1,
  kCudnnKernel,
  kCudnnBias,
  kCudnnOutput,
  kCudnnResidual,
  kCudnnSum,
  kCudnnTotal
};

}  // namespace headroom::gpu
