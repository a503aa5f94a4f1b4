#pragma once

#include <optional>
#include <vector>

#include "planner/explain/remedy.h"

namespace headroom::planner {

/// Size of the tier that a remedy adds, in practice unlimited.
constexpr int64_t kAmpleBytes = int64_t{1} << 50;

/// A remedy, and the problem changed accordingly.
struct RemedyCandidate {
  Remedy remedy;
  Problem problem;
  std::optional<MemoryTier> added{};  ///< the memory tier that it adds
};

/// All remedies that may help. The one with the slowest search comes last.
std::vector<RemedyCandidate> remedy_candidates(const Problem& problem);

}  // namespace headroom::planner
