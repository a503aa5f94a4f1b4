#include "gui/model/groundwork.h"

#include <algorithm>
#include <tuple>

#include "decoder/graph/errors.h"
#include "planner/cost/profile_check.h"
#include "planner/search/make_plan.h"

namespace headroom::gui {

bool same_but_limit(const PlanningQuestion& a, const PlanningQuestion& b) {
  const auto rest = [](const PlanningQuestion& q) {
    return std::tie(q.model, q.options.host_limit_bytes, q.options.scratch_limit_bytes,
                    q.options.scratch_folder, q.options.weights, q.profile);
  };
  return rest(a) == rest(b) && a.request == b.request;
}

Model model_of(const PlanningQuestion& question) {
  Model model = resolve_model(question.model);
  const Request& request = question.request;
  latent_extent(model, request.width_pixels, request.height_pixels, request.frames);
  if (request.batch < 1)
    throw InputError("--batch: expected at least 1, found " + std::to_string(request.batch));
  return model;
}

CostModel costs_of(const PlanningQuestion& question, const Graph& graph) {
  if (!question.profile) return CostModel(graph, question.request.device);
  const auto& profile = *question.profile->as<Profile>();
  check_profiled_model(profile, question.profile->file.string(), graph, question.request);
  return CostModel(graph, profile, question.request);
}

Groundwork::Groundwork(const PlanningQuestion& question, std::shared_ptr<FoundPlans> found)
    : question_(question),
      model_(model_of(question)),
      costs_(costs_of(question, model_.graph)),
      spaces_(spaces_of(model_, question.request, question.options, costs_)),
      found_(std::move(found)) {}

ConfigurationSearch Groundwork::search(int64_t limit_bytes, std::chrono::milliseconds time) const {
  if (const auto known = found_->under(limit_bytes)) return *known;
  ConfigurationSearch search =
      fastest_over(spaces_, question_.request, limit_bytes, std::chrono::steady_clock::now() + time);
  if (search.in_time) {
    found_->add(limit_bytes, search);
    return search;
  }
  // Found under another limit, and nothing better yet under this one.
  const auto other = found_->fitting(limit_bytes);
  if (other && (!search.best || other->best->seconds < search.best->seconds)) search.best = other->best;
  if (search.best) search.bound_seconds = std::min(search.bound_seconds, search.best->seconds);
  return search;
}

SmallestLimit Groundwork::smallest() const {
  if (const auto known = found_->smallest()) return *known;
  const SmallestLimit smallest = smallest_over(spaces_).smallest;
  found_->set_smallest(smallest);
  return smallest;
}

DocumentPtr Groundwork::plan(const ConfigurationSearch& search, int64_t limit_bytes) const {
  const ConfigurationSearch::Best& best = *search.best;
  PlanOptions options = question_.options;
  options.limit_bytes = limit_bytes;
  Plan plan = plan_of(best.solution, model_, question_.request, best.frame, options, costs_);
  plan.predicted_seconds += best.start_seconds;
  plan.bound_seconds = std::min(search.bound_seconds, plan.predicted_seconds);
  plan.optimal = plan.bound_seconds >= plan.predicted_seconds * (1 - 1e-9);
  if (question_.profile) {
    check_profiled_range(*question_.profile->as<Profile>(), question_.profile->file.string(), model_.graph,
                         plan);
  }
  return std::make_shared<Document>(Document{{}, PlanDocument{std::move(plan), model_}});
}

}  // namespace headroom::gui
