#include "tests/decoder/gpu/cuda/engines/engine_survey.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "decoder/base/errors.h"
#include "decoder/families/load_model.h"
#include "decoder/gpu/cuda/cudnn_plans.h"
#include "decoder/gpu/cuda/library_calls/convolution_chunks.h"
#include "decoder/gpu/dry_run.h"
#include "planner/cost/cost_model.h"
#include "planner/explain/why_not.h"
#include "planner/search/make_plan.h"

namespace headroom::test {
namespace {

constexpr int64_t kAmple = int64_t{1} << 40;

/// Stands in for a card's engine: records which cuDNN engines would run and runs none.
class AskedCard final : public gpu::ConvolutionEngine {
 public:
  explicit AskedCard(const Card& card) : plans_(properties_of(card)) {}

  void ask(const gpu::Convolve& call) {
    for (const Box& left : gpu::convolve_in_chunks(gpu::as_asked(call).call, *this))
      note_left(call.shape, left);
  }
  const EnginesOfCard& found() const { return found_; }

  Fit fit(const gpu::ConvolutionProblem& problem, int64_t workspace_bytes) override {
    return plans_.fit(problem, workspace_bytes);
  }
  void convolve(const gpu::ConvolutionChunk& chunk) override {
    const gpu::CudnnPlan& plan = *plans_.find(chunk.problem, chunk.workspace_bytes);
    if (plan.workspace_bytes > chunk.workspace_bytes) ++found_.over_grant;
    found_.most_workspace_bytes = std::max(found_.most_workspace_bytes, plan.workspace_bytes);
    EngineUse& use = found_.engines[plan.engine];
    use.tensor_cores = plan.tensor_cores;
    use.compiles = plan.compiles;
    use.most_inputs = std::max(use.most_inputs, chunk.problem.inputs);
    const double flops = flops_of(chunk.problem);
    use.flops += flops;
    const bool is_new = seen_.emplace(chunk.problem, plan.engine).second;
    if (is_new) ++use.problems;
    if (plans_.fit(chunk.problem, chunk.workspace_bytes) == Fit::good) return;
    found_.poor_flops += flops;
    if (is_new) ++found_.poor;
  }
  void run(const gpu::Call&) override {}

 private:
  using Box = gpu::Box;

  static double flops_of(const gpu::ConvolutionProblem& problem) {
    return 2.0 * double(problem.frames * problem.rows * problem.columns * problem.outputs) *
           double(problem.taps_t * problem.taps_y * problem.taps_x * problem.inputs);
  }

  void note_left(const gpu::ConvolutionShape& shape, const Box& box) {
    const bool starts = shape.before_first == BeforeFirst::zeros_instead_of_first_frame;
    const bool one_tap = shape.frames == 1 && shape.rows == 1 && shape.columns == 1;
    const LeftFor why = shape.groups != 1               ? LeftFor::groups
                        : one_tap                       ? LeftFor::one_tap_in_place
                        : box.t.end <= (starts ? 1 : 0) ? LeftFor::frame_of_zeros
                                                        : LeftFor::something_else;
    const Left left{why, shape.inputs, shape.outputs, shape.groups, shape.frames, shape.rows, shape.columns};
    if (left_.insert(left).second) ++found_.left[why];
  }

  using Left = std::tuple<LeftFor, int32_t, int32_t, int32_t, int32_t, int32_t, int32_t>;

  gpu::CudnnPlans plans_;
  std::set<std::pair<gpu::ConvolutionProblem, int64_t>> seen_;
  std::set<Left> left_;
  EnginesOfCard found_;
};

/// Computes nothing, and asks every card about each convolution.
class AskingGpu final : public DryGpu {
 public:
  AskingGpu() {
    for (const Card& card : kCards) cards_.push_back(std::make_unique<AskedCard>(card));
  }
  void run(const gpu::Call& call) override {
    const auto* convolve = std::get_if<gpu::Convolve>(&call);
    if (convolve == nullptr) return;
    for (const auto& card : cards_) card->ask(*convolve);
  }
  EnginesOfCards found() const {
    EnginesOfCards all;
    for (const auto& card : cards_) all.push_back(card->found());
    return all;
  }

 private:
  std::vector<std::unique_ptr<AskedCard>> cards_;
};

Plan plan_of(const Model& model, const SurveyedDecode& decode) {
  const Request request{decode.model,
                        decode.width_pixels,
                        decode.height_pixels,
                        decode.frames,
                        1,
                        kSurveyedTypes.front().dtype,
                        DeviceKind::cuda};
  const planner::CostModel costs(model.graph, DeviceKind::cuda);
  planner::PlanOptions options;
  options.limit_bytes = kAmple;
  const Plan ample = planner::plan_or_explain({model, request, options, costs});
  if (!decode.tight) return ample;
  options.limit_bytes = ample.predicted_peak_bytes / 2;
  return planner::plan_or_explain({model, request, options, costs});
}

}  // namespace

std::string why_cudnn_cannot_be_asked() {
  // Found by its name when cuDNN loads the driver's.
  if (dlopen(HEADROOM_STUB_LIBCUDA, RTLD_NOW | RTLD_GLOBAL) == nullptr) throw DeviceError(dlerror());
  // cuDNN loads its parts itself, and ends the process where one is not there.
  for (const char* part : {"graph", "heuristic", "engines_precompiled", "engines_runtime_compiled"}) {
    const std::string name = std::string("libcudnn_") + part + ".so." + std::to_string(CUDNN_MAJOR);
    if (dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr)
      return std::string("skipped: no cuDNN: ") + dlerror();
  }
  return {};
}

std::array<EnginesOfCards, kSurveyedTypes.size()> survey_engines(const std::vector<SurveyedDecode>& decodes) {
  std::array<AskingGpu, kSurveyedTypes.size()> gpus;
  for (const SurveyedDecode& decode : decodes) {
    const Model model = for_frames(resolve_model(decode.model), decode.frames);
    Plan plan = plan_of(model, decode);
    for (size_t i = 0; i < kSurveyedTypes.size(); ++i) {
      const SurveyedType& type = kSurveyedTypes[i];
      plan.request.dtype = type.dtype;
      plan.request.tf32 = {type.tf32, type.tf32};
      run_dry_on(gpus[i], model, plan);
    }
  }
  std::array<EnginesOfCards, kSurveyedTypes.size()> found;
  for (size_t i = 0; i < found.size(); ++i) found[i] = gpus[i].found();
  return found;
}

}  // namespace headroom::test
