#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "decoder/base/errors.h"
#include "planner/explain/peak.h"
#include "planner/explain/remedy.h"

namespace headroom::planner {

/// Why a request does not fit its limit, and what would make it fit.
struct WhyNot {
  int64_t limit_bytes = 0;
  int64_t smallest_limit_bytes = 0;
  size_t pass = 0;  ///< pass that determines the smallest limit
  std::string pass_name;
  int64_t picture_bytes = 0;                 ///< part of the limit that a picture in memory takes
  std::vector<LiveEntry> blockers;           ///< largest first; they add up to the smallest limit
  std::vector<Remedy> remedies;              ///< remedies that make the request fit come first, fastest first
  std::vector<std::string> not_looked_at{};  ///< options of remedies that the search had no time for
};

/// Finds the smallest limit, however long that takes, and then tries each remedy alone. A remedy is tried
/// only if the time left is enough for another search of equal length. `seconds` is CPU time of the calling
/// thread.
WhyNot why_not(const Problem& problem, double seconds = std::numeric_limits<double>::infinity());

/// ", of which 46.8 MiB are the clip that is returned". Empty if `picture_bytes` is 0.
std::string returned_text(int64_t picture_bytes, const Request& request);

/// One line with the smallest limit, the pass and its largest tensors, and the remedies with their figures.
std::string to_text(const WhyNot& why, const Request& request);
nlohmann::json to_json(const WhyNot& why);

/// Carries the full explanation.
class NothingFits : public DoesNotFit {
 public:
  NothingFits(const WhyNot& found, const Request& request)
      : DoesNotFit(to_text(found, request), found.smallest_limit_bytes), why(found) {}
  WhyNot why;
};

/// Returns the plan of make_plan(). Throws NothingFits if there is none, and passes on NoPlanInTime.
Plan plan_or_explain(const Problem& problem);

}  // namespace headroom::planner
