#pragma once

#include <optional>
#include <vector>

#include "planner/explain/remedy.h"

namespace headroom::planner {

/// Tiers of remedies are as large as anyone may ask for.
constexpr int64_t kAmpleBytes = int64_t{1} << 50;

/// A remedy and the problem with it.
struct RemedyCandidate {
  Remedy remedy;
  Problem problem;
  std::optional<MemoryTier> added{};  ///< the memory tier that it adds
};

/// Every remedy that may help, those whose search takes longest last.
std::vector<RemedyCandidate> remedy_candidates(const Problem& problem);

}  // namespace headroom::planner
