#pragma once

#include <cudnn.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
  bool by_time = false;  ///< preferred by prefer()
};

/// The plan's engine with its settings, e.g. "cuDNN 41 k2=7 k13=1". Unique among the offers for a problem.
std::string engine_text(const CudnnPlan& plan);

/// cuDNN engines for convolutions with bias. The engines accumulate in fp32, add the bias before they round,
/// and are deterministic. They round fp32 inputs to TF32 only if the problem allows it. Engines come in the
/// order of cuDNN's heuristics (plan_choice.h), unless prefer() names another one. Plans are cached by
/// problem, in host memory only.
class CudnnPlans {
 public:
  explicit CudnnPlans(cudnnHandle_t handle);
  /// For a device that may be absent, from its properties as cuDNN serialises them. These plans cannot run.
  explicit CudnnPlans(const std::string& device_properties);

  /// Prefers an engine (engine_text()) for a problem (text_of()), by measurement. Replaces earlier
  /// preferences. An engine that cuDNN does not offer or that needs too much workspace is not taken.
  void prefer(std::map<std::string, std::string> engines);
  /// The engines that prefer() can name, made: all that compile nothing and fit, in cuDNN's order.
  std::vector<CudnnPlan> usual_within(const ConvolutionProblem& problem, int64_t workspace_bytes) const;

  /// The preferred engine, or else the first one whose workspace is at most `workspace_bytes`; null if there
  /// is none.
  const CudnnPlan* find(const ConvolutionProblem& problem, int64_t workspace_bytes);
  /// Quality of that engine. It is good if it uses tensor cores or is cuDNN's best engine. Without tensor
  /// cores the best one is about twice as fast as the next.
  ConvolutionEngine::Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes);

 private:
  class Offers;
  std::vector<CudnnPlan> suggested(const CudnnDescriptor& graph, cudnnBackendHeurMode_t mode) const;
  std::vector<CudnnPlan> offers(const ConvolutionProblem& problem, cudnnBackendHeurMode_t mode) const;
  bool make(CudnnPlan& plan) const;
  const CudnnPlan* preferred(const ConvolutionProblem& problem, int64_t workspace_bytes);

  cudnnHandle_t handle_ = nullptr;
  CudnnDescriptor device_;
  std::map<ConvolutionProblem, PlanChoice<CudnnPlan>> known_;
  std::map<std::string, std::string> preferences_;
  std::map<ConvolutionProblem, std::optional<CudnnPlan>> preferred_;  ///< made on first use
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
