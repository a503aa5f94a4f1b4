#pragma once

#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom::planner {

/// The plan in a file and the model that it names, or that --model gives in its place.
struct LoadedPlan {
  Model model;
  Plan plan;
};

/// An empty `model_argument` stands for the plan's own name. Throws InputError naming the file and the key.
LoadedPlan load_plan(const std::string& file, const std::string& model_argument);

}  // namespace headroom::planner
