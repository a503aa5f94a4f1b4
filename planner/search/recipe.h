#pragma once

#include <functional>

#include "decoder/graph/model.h"
#include "decoder/plan/recipe.h"

namespace headroom::planner {

/// Plans the decode of one tile under a limit. Throws DoesNotFit where there is none.
using PlanTile = std::function<Plan(const Request& tile, int64_t limit_bytes)>;

/// A plan for each distinct size of a recipe's tiles, all under the limit beside what is kept of tiles until
/// they are blended. `plan_tile` plans for the graph that for_blended_tiles() makes of the model, which is
/// that of the request's frames. Throws InputError where the model's class has no such tiles, DoesNotFit with
/// the smallest limit for all of it.
RecipePlan plan_recipe(const Model& model, const Request& request, RecipeName name, int64_t limit_bytes,
                       const PlanTile& plan_tile);

}  // namespace headroom::planner
