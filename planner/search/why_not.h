#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "decoder/graph/errors.h"
#include "planner/search/configurations.h"

namespace headroom::planner {

/// Something that is on the device at a pass's peak.
struct Blocker {
  std::string name;
  std::string what;  ///< "materialised", "tiles", "weights", "reserve"
  int64_t bytes = 0;
};

/// A change of the request or of the options under which less memory may do.
struct Change {
  std::string option;   ///< as an option of the command, e.g. "--dtype bf16"
  std::string meaning;  ///< in words: "materialised tensors are stored in 16 bits"
  Request request;      ///< with the change
  PlanOptions options;
  std::optional<MemoryTier> added{};  ///< the tier that it makes room in
};

/// Every change that is known to help, each alone. Batches in micro-batches need none: they are searched
/// anyway.
std::vector<Change> changes_of(const Model& model, const Request& request, const PlanOptions& options,
                               const CostModel& costs);

/// One change of the request or the options, and what it would bring.
struct Relaxation {
  std::string change;                             ///< as an option of the command, e.g. "--dtype bf16"
  std::optional<double> seconds{};                ///< of the plan that it makes possible
  std::optional<int64_t> needs_bytes{};           ///< in the tier that it adds
  std::optional<int64_t> smallest_limit_bytes{};  ///< where it alone does not do
};

/// Why a request does not fit its limit, and what would make it fit.
struct WhyNot {
  int64_t limit_bytes = 0;
  int64_t smallest_limit_bytes = 0;
  size_t pass = 0;  ///< the one that forbids less
  std::string pass_name;
  std::vector<Blocker> blockers;        ///< largest first
  std::vector<Relaxation> relaxations;  ///< those that do first, fastest first
};

/// Solves for the smallest limit and for each relaxation alone.
WhyNot why_not(const Model& model, const Request& request, const PlanOptions& options,
               const CostModel& costs);

/// One line: the smallest limit, the pass and its largest tensors, the relaxations with their figures.
std::string to_text(const WhyNot& why, const Request& request);
nlohmann::json to_json(const WhyNot& why);

/// With all that was found out.
class NothingFits : public DoesNotFit {
 public:
  NothingFits(const WhyNot& found, const Request& request)
      : DoesNotFit(to_text(found, request), found.smallest_limit_bytes), why(found) {}
  WhyNot why;
};

}  // namespace headroom::planner
