#pragma once

#include <vector>

#include "decoder/plan/ranked_plan.h"

namespace headroom::planner {

/// What the ranks of a plan wait for one another, from the seconds that its passes compute, and its link:
///
///     rank 0   pass 3 ======|g|  pass 4 ====|====|....====|g|     g  statistics: all wait for the slowest
///                              \  /                 ^             .  rows of below are not there yet
///     rank 1   pass 3 ====|..g|  pass 4 ==== ...
///
/// A rank sends one message after another, to ranks below it first. A message leaves when the pass that
/// writes its rows is done; who gets it waits in the first band that reads one of them. The output's
/// rows go to rank 0 when all passes are done.
///
/// Seconds from the first pass until rank 0 has the whole output of all micro-batches.
double exchanged_seconds(const Graph& graph, const RankedPlan& plan);

}  // namespace headroom::planner
