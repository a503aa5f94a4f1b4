#include "decoder/gpu/cuda/cudnn_convolution.h"

#include <array>
#include <string>
#include <utility>

#include "decoder/gpu/cuda/library_calls/fastest_engine.h"
#include "decoder/gpu/cuda/library_calls/problem_text.h"
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

CudnnRun::CudnnRun(const ConvolutionChunk& chunk) : pack_(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
  constexpr std::array<int64_t, 5> kNumbers{kCudnnInput, kCudnnKernel, kCudnnBias, kCudnnOutput,
                                            kCudnnResidual};
  const std::array<const void*, 5> addresses{chunk.input, chunk.kernel, chunk.bias, chunk.output,
                                             chunk.residual};
  const int64_t tensors = chunk.problem.adds ? 5 : 4;
  const void* workspace = chunk.workspace;
  constexpr const char* kSet = "cudnnBackendSetAttribute";
  check(cudnnBackendSetAttribute(pack_.get(), CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, tensors,
                                 kNumbers.data()),
        kSet);
  check(cudnnBackendSetAttribute(pack_.get(), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
                                 tensors, addresses.data()),
        kSet);
  check(cudnnBackendSetAttribute(pack_.get(), CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1,
                                 &workspace),
        kSet);
  check(cudnnBackendFinalize(pack_.get()), "cudnnBackendFinalize");
}

void CudnnRun::start(cudnnHandle_t handle, const CudnnPlan& plan) const {
  check(cudnnBackendExecute(handle, plan.plan.get(), pack_.get()), "cudnnBackendExecute");
}

CudnnEngineTimes::CudnnEngineTimes(cudnnHandle_t handle, const CudnnPlans& plans)
    : handle_(handle), plans_(plans) {
  check(cudnnGetStream(handle_, &stream_), "cudnnGetStream");
}

CudnnEngineTimes::~CudnnEngineTimes() {
  for (cudaEvent_t event : events_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
}

/// Runs that add in place sum up, in fp16 until they overflow. Overflow would stop the decode.
void CudnnEngineTimes::clear(const ConvolutionChunk& chunk) const {
  const ConvolutionProblem& p = chunk.problem;
  const int64_t elements =
      (p.frames - 1) * p.output_frame + (p.rows - 1) * p.output_row + p.columns * p.outputs;
  check(cudaMemsetAsync(chunk.output, 0, static_cast<size_t>(elements * bytes_per_element(p.dtype)), stream_),
        "cudaMemsetAsync");
}

void CudnnEngineTimes::time(const ConvolutionChunk& chunk) {
  if (choices_.contains(chunk.problem)) return;
  const std::vector<CudnnPlan> plans = plans_.usual_within(chunk.problem, chunk.workspace_bytes);
  if (plans.empty()) return;
  for (cudaEvent_t& event : events_) {
    if (event == nullptr) check(cudaEventCreate(&event), "cudaEventCreate");
  }
  const CudnnRun run(chunk);
  const FastestEngine fastest = fastest_engine(plans.size(), [&](size_t engine, int runs) {
    check(cudaEventRecord(events_[0], stream_), "cudaEventRecord");
    for (int i = 0; i < runs; ++i) run.start(handle_, plans[engine]);
    check(cudaEventRecord(events_[1], stream_), "cudaEventRecord");
    check(cudaEventSynchronize(events_[1]), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "cudaEventElapsedTime");
    return double(milliseconds) / 1000 / runs;
  });
  if (chunk.residual == chunk.output) clear(chunk);
  choices_[chunk.problem] = {text_of(chunk.problem), engine_text(plans[fastest.engine]), fastest.seconds,
                             engine_text(plans.front()), fastest.first_seconds};
}

std::vector<EngineChoice> CudnnEngineTimes::choices() const {
  std::vector<EngineChoice> all;
  for (const auto& [problem, choice] : choices_) all.push_back(choice);
  return all;
}

}  // namespace headroom::gpu
