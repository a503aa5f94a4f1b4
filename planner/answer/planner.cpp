#include "planner/answer/planner.h"

#include <filesystem>
#include <utility>

#include "decoder/base/errors.h"
#include "planner/answer/learnt.h"
#include "planner/cost/profile_check.h"
#include "planner/explain/why_not.h"
#include "planner/search/configurations.h"
#include "planner/search/finish_plan.h"
#include "planner/search/make_plan.h"
#include "profiler/profile/profile_file.h"

namespace headroom::planner {
namespace {

/// Heap memory that a process keeps between decodes, on top of a single decode's memory outside the pool.
constexpr int64_t kQueueReserveBytes = int64_t{3} << 19;

CostModel costs_of_one(const Graph& graph, const Question& question) {
  if (!question.profile) return CostModel(graph, question.request.device);
  check_profiled_model(*question.profile, question.profile_file, graph, question.request);
  if (!question.other_environment) check_profiled_machine(*question.profile, question.profile_file);
  return CostModel(graph, *question.profile, question.request);
}

/// The size is checked before the costs, which depend on it.
Question checked(const Model& model, Question question) {
  const Request& request = question.request;
  latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  return question;
}

}  // namespace

void set_profile(Question& question, const std::string& file) {
  if (file.empty()) return;
  question.profile = std::make_shared<profiler::Profile>(profiler::read_profile(file));
  question.profile_file = file;
}

int64_t free_disk_bytes(const std::string& scratch_folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(scratch_folder, error);
  if (error)
    throw InputError("--scratch " + scratch_folder + ": expected a folder that exists (" + error.message() +
                     ")");
  return static_cast<int64_t>(space.available);
}

CostModel costs_of(const Graph& graph, const Question& question) {
  CostModel costs = costs_of_one(graph, question);
  if (costs.assumed()) costs.set_learnt(learnt_for(question.request));
  if (question.one_of_several && device_record(question.request.device).is_host)
    costs.add_reserve(kQueueReserveBytes);
  return costs;
}

Planner::Planner(const Model& model, Question question)
    : model_(model),
      question_(checked(model, std::move(question))),
      costs_(costs_of(model.graph, question_)) {}

Problem Planner::problem_under(int64_t limit_bytes) const {
  Problem asked = problem();
  asked.options.limit_bytes = limit_bytes;
  return asked;
}

std::optional<Plan> Planner::fastest_if_any(int64_t limit_bytes) const {
  std::optional<Plan> found = make_plan(problem_under(limit_bytes));
  if (found && limit_bytes == kNoLimit) found->limit_bytes = found->predicted_peak_bytes;
  return found;
}

Plan Planner::fastest() const {
  Plan found = plan_or_explain(problem());
  if (question_.options.limit_bytes == kNoLimit) found.limit_bytes = found.predicted_peak_bytes;
  check_range(found);
  return found;
}

Plan Planner::smallest() const {
  return smallest_plan(problem(), spaces_of(problem()));
}

void Planner::check_range(const Plan& plan) const {
  if (question_.profile) check_profiled_range(*question_.profile, question_.profile_file, model_.graph, plan);
}

}  // namespace headroom::planner
