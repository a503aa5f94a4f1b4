#pragma once

#include <string>
#include <vector>

#include "decoder/plan/ranked_plan.h"
#include "decoder/validator/view.h"

// Several ranks' plans, seen side by side. Their checks rest on one argument for why no rank waits for ever:
//
//     rank 0   pass 0 | gather | post .......... pass 1 | gather | post ...
//     rank 1   pass 0 | gather | post .... pass 1 .... | gather | post ...
//                                   \___ waits for what was posted after pass 0
//
// All ranks run the same passes with the same steps on as many micro-batches (same_passes.cpp), so they
// gather and post as often, in one order. They post from one list of transfers, so what one sends to another
// is what that one expects next, if both take the list in one order (transfers.cpp). Posting does not wait.
// Within a pass a rank waits for messages that were posted after earlier passes, since a tensor's rows leave
// after the pass that writes it and are read in later ones; and for all ranks to gather in this pass. Of the
// ranks that wait, one in the earliest pass thus waits for another one that runs, or for one in the same
// gather: some rank goes on.
namespace headroom::validation {

class RankedView {
 public:
  RankedView(const RankedPlan& checked_plan, const Graph& checked_graph, const Extent& latent_extent);

  const RankedPlan& plan;
  const Graph& graph;
  const Extent latent;
  std::vector<View> ranks;  ///< each rank's own plan; what these find is in `findings`
  Findings findings;

  /// `ranks[1]`, and `ranks[1].plan.passes[2]` of a place in that rank's plan.
  static std::string place(size_t rank);
  static std::string place(size_t rank, const std::string& of_plan);
};

/// Requests, passes, steps and kept tensors of all ranks against those of the first.
void check_same_passes(RankedView& view);
/// Checks which rows leave which rank and when, and that each rank receives all rows of others that it reads.
/// Every rank's plan must be valid by itself, and all must have the same passes.
void check_transfers(RankedView& view);
/// Bytes that each rank sends. Only for sound transfers.
void check_traffic(RankedView& view);

}  // namespace headroom::validation
