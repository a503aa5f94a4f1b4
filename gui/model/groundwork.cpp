#include "gui/model/groundwork.h"

#include <algorithm>
#include <tuple>

#include "decoder/base/errors.h"
#include "decoder/weights/open_model.h"
#include "planner/cost/profile_check.h"

namespace headroom::gui {

bool same_but_limit(const PlanningQuestion& a, const PlanningQuestion& b) {
  const auto rest = [](const PlanningQuestion& q) {
    return std::tie(q.model, q.options.host_limit_bytes, q.options.scratch_limit_bytes,
                    q.options.scratch_folder, q.options.weights, q.profile);
  };
  return rest(a) == rest(b) && a.request == b.request;
}

Model model_of(const PlanningQuestion& question) {
  const Request& request = question.request;
  Model model = model_for(open_model(question.model), request);
  latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  if (request.batch < 1)
    throw InputError("--batch: expected at least 1, found " + std::to_string(request.batch));
  return model;
}

planner::CostModel costs_of(const PlanningQuestion& question, const Graph& graph) {
  if (!question.profile) return planner::CostModel(graph, question.request.device);
  const auto& profile = *question.profile->as<profiler::Profile>();
  planner::check_profiled_model(profile, question.profile->file.string(), graph, question.request);
  return planner::CostModel(graph, profile, question.request);
}

Groundwork::Groundwork(const PlanningQuestion& question, std::shared_ptr<FoundPlans> found)
    : question_(question),
      model_(model_of(question)),
      costs_(costs_of(question, model_.graph)),
      spaces_(planner::spaces_of({model_, question.request, question.options, costs_})),
      found_(std::move(found)) {}

planner::ConfigurationSearch Groundwork::search(int64_t limit_bytes, std::chrono::milliseconds time) const {
  if (const auto known = found_->under(limit_bytes)) return *known;
  planner::ConfigurationSearch search = planner::fastest_over(
      spaces_, question_.request, limit_bytes, {.deadline = std::chrono::steady_clock::now() + time});
  if (search.in_time) {
    found_->add(limit_bytes, search);
    return search;
  }
  // A plan found under another limit may be faster than the result of an unfinished search.
  const auto other = found_->fitting(limit_bytes);
  if (other && (!search.best || other->best->seconds < search.best->seconds)) search.best = other->best;
  if (search.best) search.bound_seconds = std::min(search.bound_seconds, search.best->seconds);
  return search;
}

planner::SmallestLimit Groundwork::smallest() const {
  if (const auto known = found_->smallest()) return *known;
  const planner::SmallestLimit smallest = planner::smallest_over(spaces_).smallest;
  found_->set_smallest(smallest);
  return smallest;
}

reports::DocumentPtr Groundwork::plan(const planner::ConfigurationSearch& search, int64_t limit_bytes,
                                      const planner::GapSearch& gaps) const {
  std::optional<Plan> plan = planner::finish_plan(problem_under(limit_bytes), spaces_, search, gaps);
  if (!plan) return nullptr;
  if (question_.profile) {
    planner::check_profiled_range(*question_.profile->as<profiler::Profile>(),
                                  question_.profile->file.string(), model_.graph, *plan);
  }
  return std::make_shared<reports::Document>(
      reports::Document{{}, reports::PlanDocument{*std::move(plan), model_, question_.model}});
}

planner::Problem Groundwork::problem_under(int64_t limit_bytes) const {
  planner::Problem problem{model_, question_.request, question_.options, costs_};
  problem.options.limit_bytes = limit_bytes;
  return problem;
}

}  // namespace headroom::gui
