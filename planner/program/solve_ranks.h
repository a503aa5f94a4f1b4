#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/plan/plan.h"
#include "planner/program/rank_options.h"
#include "planner/program/request_options.h"

namespace headroom::planner {

/// Destination of a plan.
struct PlanOutput {
  std::string file;
  bool json = false;  ///< on standard output as well
};

class RanksDoNotFit : public DoesNotFit {
 public:
  RanksDoNotFit(const std::string& message, std::vector<int64_t> limits, int64_t smallest)
      : DoesNotFit(message, smallest), limits_bytes(std::move(limits)) {}
  std::vector<int64_t> limits_bytes;  ///< by rank
};

/// Plans for ranks. `model` must be the model of `asked`. Throws RanksDoNotFit with the smallest limit that
/// works for each rank, and InputError like make_ranked_plan().
Plans plan_ranks(const RequestOptions& asked, const Model& model, const RankOptions& ranks,
                 const std::string& limit, const PlanOptions& options);

/// Plans for ranks, and writes the plan.
void solve_ranks(const RequestOptions& asked, const RankOptions& ranks, const std::string& limit,
                 const PlanOptions& options, const PlanOutput& output, std::ostream& out);

/// Compares several numbers of ranks: the fastest plan without a limit, and the smallest limit, for each.
/// Prints a table or JSON.
void compare_ranks(const RequestOptions& asked, const RankOptions& ranks, bool json, std::ostream& out);

}  // namespace headroom::planner
