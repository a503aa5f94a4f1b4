#include "decoder/gpu/cuda/cudnn_convolution.h"

#include <string>
#include <utility>

#include "decoder/gpu/cuda/cudnn_engine_times.h"
#include "decoder/gpu/cuda/cudnn_run.h"
#include "decoder/gpu/cuda/status.h"
#include "decoder/gpu/kernels/kernels.h"

namespace headroom::gpu {
namespace {

class Engine : public ConvolutionEngine {
 public:
  Engine(cudnnHandle_t handle, CudnnPlans& plans, CudnnEngineTimes* times, CudnnEngineRuns& runs)
      : handle_(handle), plans_(plans), times_(times), runs_(runs) {}

  Fit fit(const ConvolutionProblem& problem, int64_t workspace_bytes) override {
    return plans_.fit(problem, workspace_bytes);
  }

  void convolve(const ConvolutionChunk& chunk) override {
    if (times_ != nullptr) times_->time(chunk);
    const CudnnPlan* plan = plans_.find(chunk.problem, chunk.workspace_bytes);
    CudnnRun(chunk).start(handle_, *plan);
    ++runs_[{plan->engine, plan->compiles, plan->by_time}];
  }

  void run(const Call& call) override {
    cudaStream_t stream = nullptr;
    check(cudnnGetStream(handle_, &stream), "cudnnGetStream");
    gpu::run(call, stream);
  }

 private:
  cudnnHandle_t handle_;
  CudnnPlans& plans_;
  CudnnEngineTimes* const times_;
  CudnnEngineRuns& runs_;
};

}  // namespace

std::vector<Box> CudnnConvolution::convolve(const Convolve& call) {
  Engine engine(handle_, plans_, times_, runs_);
  return convolve_in_chunks(call, engine);
}

std::vector<EngineChoice> CudnnConvolution::time_engines(const std::function<void()>& work) {
  CudnnEngineTimes times(handle_, plans_);
  struct Timing {
    CudnnEngineTimes*& times;
    ~Timing() { times = nullptr; }
  } const timing{times_};
  times_ = &times;
  work();
  return times.choices();
}

void CudnnConvolution::prefer_engines(const std::vector<EngineChoice>& choices) {
  std::map<std::string, std::string> engines;
  for (const EngineChoice& choice : choices) engines[choice.problem] = choice.engine;
  plans_.prefer(std::move(engines));
}

std::vector<EngineRuns> CudnnConvolution::engine_runs() const {
  std::vector<EngineRuns> all;
  for (const auto& [engine, runs] : runs_) {
    const auto& [number, compiles, by_time] = engine;
    all.push_back({"cuDNN " + std::to_string(number) + (by_time ? " by time" : ""), compiles, runs});
  }
  return all;
}

}  // namespace headroom::gpu
