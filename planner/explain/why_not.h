#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "decoder/graph/errors.h"
#include "planner/explain/live_memory.h"
#include "planner/explain/remedy.h"

namespace headroom::planner {

/// Why a request does not fit its limit, and what would make it fit.
struct WhyNot {
  int64_t limit_bytes = 0;
  int64_t smallest_limit_bytes = 0;
  size_t pass = 0;  ///< the one that forbids less
  std::string pass_name;
  int64_t picture_bytes = 0;                 ///< of the limit, for a picture that stays in memory
  std::vector<LiveEntry> blockers;           ///< largest first; they add up to the smallest limit
  std::vector<Remedy> remedies;              ///< those that do first, fastest first
  std::vector<std::string> not_looked_at{};  ///< options of remedies for which there was no time
};

/// Solves for the smallest limit, however long that takes, and then with each remedy alone as long as there
/// is time for another search like that, within so many seconds of the calling thread's own work.
WhyNot why_not(const Problem& problem, double seconds = std::numeric_limits<double>::infinity());

/// ", of which 46.8 MiB are the clip that is returned"; empty where there are no such bytes.
std::string returned_text(int64_t picture_bytes, const Request& request);

/// One line: the smallest limit, the pass and its largest tensors, the remedies with their figures.
std::string to_text(const WhyNot& why, const Request& request);
nlohmann::json to_json(const WhyNot& why);

/// With all that was found out.
class NothingFits : public DoesNotFit {
 public:
  NothingFits(const WhyNot& found, const Request& request)
      : DoesNotFit(to_text(found, request), found.smallest_limit_bytes), why(found) {}
  WhyNot why;
};

/// Returns the plan of make_plan(). Throws NothingFits if there is none, and passes on NoPlanInTime.
Plan plan_or_explain(const Problem& problem);

}  // namespace headroom::planner
