#pragma once

#include <cstdint>

#include "decoder/plan/plan.h"

namespace headroom::planner {

/// The ranks that share a decode, and how they reach one another.
struct Ranks {
  int32_t count = 1;
  Link link{};
  bool alone() const { return count == 1; }
};

/// Seconds from sending the first byte until the last byte arrives. 0 if there are no bytes.
double message_seconds(double bytes, const Link& link);

/// Seconds of an all-gather: each rank in turn sends `values` numbers to all others.
double gather_seconds(int64_t values, const Ranks& ranks);

}  // namespace headroom::planner
