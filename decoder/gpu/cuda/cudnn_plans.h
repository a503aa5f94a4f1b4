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

/// cuDNN engines for convolutions with bias. The engines accumulate in fp32, add the bias before they round,
/// and are deterministic. They round fp32 inputs to TF32 only if the problem allows it. Engines come in the
/// order of cuDNN's heuristics, without benchmarking (plan_choice.h). Plans are cached by problem, in host
/// memory only.
class CudnnPlans {
 public:
  explicit CudnnPlans(cudnnHandle_t handle);
  /// For a device that may be absent, from its properties as cuDNN serialises them. These plans cannot run.
  explicit CudnnPlans(const std::string& device_properties);

  /// The first engine whose workspace is at most `workspace_bytes`; null if there is none.
  const CudnnPlan* find(const ConvolutionProblem& problem, int64_t workspace_bytes);
  /// Quality of that engine. It is good if it uses tensor cores or is cuDNN's best engine. Without tensor
  /// cores the best one is about twice as fast as the next.
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

/// Unique identifiers of a plan's tensors.
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
