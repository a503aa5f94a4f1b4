#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "decoder/graph/graph.h"
#include "decoder/graph/json_fields.h"
#include "decoder/plan/recipe.h"

namespace headroom {

/// Whether a file of the schema "headroom.plan" has a recipe: then it holds plans for tiles, not one plan.
bool has_recipe(const JsonFields& file);

/// The plan as docs/formats.md describes it. `graph` is that of the clip, or of the picture.
nlohmann::json to_json(const RecipePlan& plan, const Graph& graph);

/// Every number is checked against its range; whether the plan is a correct one is the validator's business.
/// Throws InputError naming the file and the key.
RecipePlan recipe_plan_from_json(const JsonFields& file, const Graph& graph);

/// Writes the file whole or not at all. Throws DeviceError.
void write_recipe_plan(const std::filesystem::path& file, const RecipePlan& plan, const Graph& graph);

}  // namespace headroom
