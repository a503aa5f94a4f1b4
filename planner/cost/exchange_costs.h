#pragma once

#include <cstdint>

#include "decoder/plan/ranked_plan.h"

namespace headroom::planner {

/// The ranks that share a decode, and how they reach one another.
struct Ranks {
  int32_t count = 1;
  Link link{};
  bool alone() const { return count == 1; }
};

/// What is assumed where nobody says: of CPUs 10 Gbit/s Ethernet, of GPUs PCIe 4 without a way of their own.
Link assumed_link(DeviceKind device);

/// From when so many bytes begin to leave until the last of them is there; 0 where there are none.
double message_seconds(double bytes, const Link& link);

/// Every rank's own `values` numbers to all others, one rank after another.
double gather_seconds(int64_t values, const Ranks& ranks);

}  // namespace headroom::planner
