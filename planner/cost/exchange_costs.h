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

/// Times at which the ranks of a plan wait for each other, from its link and the compute time of its passes:
///
///     rank 0   pass 3 ======|g|  pass 4 ====|====|....====|g|     g  statistics: all wait for the slowest
///                              \  /                 ^             .  rows of below are not there yet
///     rank 1   pass 3 ====|..g|  pass 4 ==== ...
///
/// A rank sends one message after another, to ranks below it first. A message leaves when the pass that
/// writes its rows is done. Its receiver waits in the first band that reads one of these rows. When all
/// passes are done, rows of the output go to rank 0, one rank after another.
///
/// Returns seconds from the first pass until rank 0 has the whole output of all micro-batches.
double exchanged_seconds(const Graph& graph, const Plans& plan);

}  // namespace headroom::planner
