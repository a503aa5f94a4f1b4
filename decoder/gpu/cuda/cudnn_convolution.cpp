#include "decoder/gpu/cuda/cudnn_convolution.h"

#include <array>
#include <string>

#include "decoder/gpu/cuda/status.h"
#include "decoder/gpu/kernels/kernels.h"

namespace headroom::gpu {
namespace {

class Engine : public ConvolutionEngine {
 public:
  using Runs = std::map<std::pair<int64_t, bool>, int64_t>;
  Engine(cudnnHandle_t handle, CudnnPlans& plans, Runs& runs) : handle_(handle), plans_(plans), runs_(runs) {}

  Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes) override {
    return plans_.fit(problem, workspace_bytes);
  }

  void convolve(const ConvolutionChunk& chunk) override {
    const CudnnPlan* plan = plans_.find(chunk.problem, chunk.workspace_bytes);
    constexpr std::array<int64_t, 5> kNumbers{kCudnnInput, kCudnnKernel, kCudnnBias, kCudnnOutput,
                                              kCudnnResidual};
    const std::array<const void*, 5> addresses{chunk.input, chunk.kernel, chunk.bias, chunk.output,
                                               chunk.residual};
    const int64_t tensors = chunk.problem.adds ? 5 : 4;
    const void* workspace = chunk.workspace;
    const CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    constexpr const char* kSet = "cudnnBackendSetAttribute";
    check(cudnnBackendSetAttribute(pack.get(), CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, tensors,
                                   kNumbers.data()),
          kSet);
    check(cudnnBackendSetAttribute(pack.get(), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                   tensors, addresses.data()),
          kSet);
    check(cudnnBackendSetAttribute(pack.get(), CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                                   &workspace),
          kSet);
    check(cudnnBackendFinalize(pack.get()), "cudnnBackendFinalize");
    check(cudnnBackendExecute(handle_, plan->plan.get(), pack.get()), "cudnnBackendExecute");
    ++runs_[{plan->engine, plan->compiles}];
  }

  void run(const Call& call) override {
    cudaStream_t stream = nullptr;
    check(cudnnGetStream(handle_, &stream), "cudnnGetStream");
    gpu::run(call, stream);
  }

 private:
  cudnnHandle_t handle_;
  CudnnPlans& plans_;
  Runs& runs_;
};

}  // namespace

std::vector<Box> CudnnConvolution::convolve(const Convolve& call) {
  Engine engine(handle_, plans_, runs_);
  return convolve_in_chunks(call, engine);
}

std::vector<EngineRuns> CudnnConvolution::engine_runs() const {
  std::vector<EngineRuns> all;
  for (const auto& [engine, runs] : runs_)
    all.push_back({"cuDNN " + std::to_string(engine.first), engine.second, runs});
  return all;
}

}  // namespace headroom::gpu
