#include "decoder/gpu/cuda/cudnn_engine_times.h"

#include "decoder/gpu/cuda/cudnn_run.h"
#include "decoder/gpu/cuda/library_calls/fastest_engine.h"
#include "decoder/gpu/cuda/library_calls/problem_text.h"
#include "decoder/gpu/cuda/status.h"

namespace headroom::gpu {

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
