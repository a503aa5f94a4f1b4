#pragma once

#include <ostream>
#include <string>

#include "planner/program/rank_options.h"
#include "planner/program/request_options.h"

namespace headroom::planner {

/// Where a plan goes.
struct PlanOutput {
  std::string file;
  bool json = false;  ///< on standard output as well
};

/// Plans for ranks, and writes the plan. Throws DoesNotFit with the smallest limit for each rank that works;
/// InputError as make_ranked_plan() does.
void solve_ranks(const RequestOptions& asked, const RankOptions& ranks, const std::string& limit,
                 const PlanOptions& options, const PlanOutput& output, std::ostream& out);

/// Several numbers of ranks: the fastest plan of each without a limit, and the smallest limit. As a table, or
/// as JSON.
void compare_ranks(const RequestOptions& asked, const RankOptions& ranks, bool json, std::ostream& out);

}  // namespace headroom::planner
