#pragma once

#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "decoder/plan/ranked_plan.h"
#include "decoder/plan/recipe.h"

namespace headroom::planner {

/// The plan in a file and the model that it names, or that --model gives in its place.
struct LoadedPlan {
  Model model;
  Plan plan;
};

/// An empty `model_argument` stands for the plan's own name. Throws InputError naming the file and the key.
LoadedPlan load_plan(const std::string& file, const std::string& model_argument);

/// The same of a plan with a recipe.
struct LoadedRecipe {
  Model model;
  RecipePlan plan;
};
LoadedRecipe load_recipe(const std::string& file, const std::string& model_argument);

/// The same of a plan for ranks.
struct LoadedRanks {
  Model model;
  RankedPlan plan;
};
LoadedRanks load_ranks(const std::string& file, const std::string& model_argument);

/// The plan of one of these ranks. Throws InputError too where there is no such rank.
LoadedPlan load_rank(const std::string& file, const std::string& model_argument, size_t rank);

}  // namespace headroom::planner
