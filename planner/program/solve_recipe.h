#pragma once

#include <ostream>
#include <string>

#include "decoder/graph/model.h"
#include "planner/program/request_options.h"

namespace headroom::planner {

/// Where a plan goes.
struct PlanOutput {
  std::string file;
  bool json = false;  ///< on standard output as well
};

/// Plans the tiles of a recipe by its name, and writes the plan. Throws as plan_recipe() does.
void solve_recipe(const RequestOptions& asked, const std::string& recipe, const PlanOptions& options,
                  const PlanOutput& output, std::ostream& out);

}  // namespace headroom::planner
