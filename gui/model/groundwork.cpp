#include "gui/model/groundwork.h"

#include <algorithm>
#include <tuple>

#include "decoder/base/errors.h"
#include "decoder/weights/open_model.h"

namespace headroom::gui {

bool same_but_limit(const PlanningQuestion& a, const PlanningQuestion& b) {
  const auto rest = [](const PlanningQuestion& q) {
    return std::tie(q.options.host_limit_bytes, q.options.scratch_limit_bytes, q.options.scratch_folder,
                    q.options.weights, q.profile);
  };
  return rest(a) == rest(b) && a.request == b.request;
}

Model model_of(const PlanningQuestion& question) {
  const Request& request = question.request;
  Model model = model_for(open_model(request.model), request);
  latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  if (request.batch < 1)
    throw InputError("--batch: expected at least 1, found " + std::to_string(request.batch));
  return model;
}

planner::Question asked_of(const PlanningQuestion& question) {
  planner::Question asked{
      .request = question.request, .options = question.options, .other_environment = true};
  if (question.profile) {
    asked.profile = {question.profile, question.profile->as<profiler::Profile>()};
    asked.profile_file = question.profile->file.string();
  }
  return asked;
}

Groundwork::Groundwork(const PlanningQuestion& question, std::shared_ptr<FoundPlans> found)
    : question_(question),
      model_(model_of(question)),
      planner_(model_, asked_of(question)),
      spaces_(planner::spaces_of(planner_.problem())),
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
  planner_.check_range(*plan);
  return std::make_shared<reports::Document>(
      reports::Document{{}, reports::PlanDocument{*std::move(plan), model_, question_.request.model}});
}

}  // namespace headroom::gui
