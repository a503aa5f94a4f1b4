#include "planner/program/solve_recipe.h"

#include <nlohmann/json.hpp>

#include "decoder/graph/amounts.h"
#include "decoder/graph/errors.h"
#include "decoder/outputs/printable.h"
#include "decoder/plan/recipe_file.h"
#include "decoder/validator/recipe_validator.h"
#include "planner/cost/profile_check.h"
#include "planner/explain/why_not.h"
#include "planner/search/recipe.h"
#include "profiler/profile/profile_file.h"

namespace headroom::planner {

void solve_recipe(const RequestOptions& asked, const std::string& recipe, const PlanOptions& options,
                  const PlanOutput& output, std::ostream& out) {
  const RecipeName name = parse_recipe(recipe, "--recipe");
  const Model model = asked.resolved_model();
  const Model of_tiles = for_blended_tiles(model);
  const Request request = asked.request(model);
  const auto plan_tile = [&](const Request& tile, int64_t limit_bytes) {
    PlanOptions own = options;
    own.limit_bytes = limit_bytes;
    Plan plan = plan_or_explain({of_tiles, tile, own, asked.costs(of_tiles, tile)});
    if (!asked.profile_file.empty())
      check_profiled_range(profiler::read_profile(asked.profile_file), asked.profile_file, of_tiles.graph,
                           plan);
    return plan;
  };
  const RecipePlan plan = plan_recipe(model, request, name, options.limit_bytes, plan_tile);
  require_valid(plan, model, "the plan that was found");
  write_recipe_plan(output.file, plan, model.graph);
  if (output.json) {
    out << to_json(plan, model.graph).dump(2) << "\n";
    return;
  }
  out << one_line(output.file) << ": equals " << equals_of(name) << "; " << plan.plan_of_tile.size()
      << " tiles of " << plan.plans.size() << " sizes, peak " << format_bytes(plan.predicted_peak_bytes)
      << " of " << format_bytes(plan.limit_bytes) << ", " << format_bytes(plan.kept_bytes)
      << " kept to blend tiles, " << format_seconds(plan.predicted_seconds)
      << (plan.plans.front().assumed ? " by assumed costs" : "") << "\n";
}

}  // namespace headroom::planner
