#include "planner/program/loaded_plan.h"

#include "decoder/plan/plan_file.h"

namespace headroom::planner {

namespace {

Model model_of(const Request& request, const std::string& argument) {
  return for_frames(resolve_model(argument.empty() ? request.model : argument), request.frames);
}

}  // namespace

LoadedPlan load_plan(const std::string& file, const std::string& model_argument) {
  const PlanFile parsed(file);
  Model model = model_of(parsed.request(), model_argument);
  Plan plan = parsed.plan(model.graph);
  return {std::move(model), std::move(plan)};
}

LoadedRecipe load_recipe(const std::string& file, const std::string& model_argument) {
  const PlanFile parsed(file);
  Model model = model_of(parsed.request(), model_argument);
  RecipePlan plan = parsed.recipe_plan(model.graph);
  return {std::move(model), std::move(plan)};
}

LoadedRanks load_ranks(const std::string& file, const std::string& model_argument) {
  const PlanFile parsed(file);
  Model model = model_of(parsed.request(), model_argument);
  RankedPlan plan = parsed.ranked_plan(model.graph);
  return {std::move(model), std::move(plan)};
}

}  // namespace headroom::planner
