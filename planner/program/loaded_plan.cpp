#include "planner/program/loaded_plan.h"

#include "decoder/plan/plan_file.h"

namespace headroom::planner {

LoadedPlan load_plan(const std::string& file, const std::string& model_argument) {
  const PlanFile parsed(file);
  const Request& request = parsed.request();
  Model model =
      for_frames(resolve_model(model_argument.empty() ? request.model : model_argument), request.frames);
  Plan plan = parsed.plan(model.graph);
  return {std::move(model), std::move(plan)};
}

}  // namespace headroom::planner
