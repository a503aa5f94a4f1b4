#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "decoder/graph/errors.h"
#include "planner/explain/remedy.h"

namespace headroom::planner {

/// Something that is on the device at a pass's peak.
struct Blocker {
  std::string name;
  std::string what;  ///< "kept" of a materialised tensor, "tiles", "weights", "statistics" or "reserve"
  int64_t bytes = 0;
};

/// Why a request does not fit its limit, and what would make it fit.
struct WhyNot {
  int64_t limit_bytes = 0;
  int64_t smallest_limit_bytes = 0;
  size_t pass = 0;  ///< the one that forbids less
  std::string pass_name;
  std::vector<Blocker> blockers;             ///< largest first
  std::vector<Remedy> remedies;              ///< those that do first, fastest first
  std::vector<std::string> not_looked_at{};  ///< options of remedies for which there was no time
};

/// Solves for the smallest limit, however long that takes, and then with each remedy alone as long as there
/// is time for another search like that, within so many seconds of the calling thread's own work.
WhyNot why_not(const Problem& problem, double seconds = std::numeric_limits<double>::infinity());

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

/// What make_plan() finds. Throws NothingFits where it finds nothing, and NoPlanInTime as it does.
Plan plan_or_explain(const Problem& problem);

}  // namespace headroom::planner
