#pragma once

#include <string>
#include <vector>

#include "decoder/validator/view.h"

// Checks across several ranks' plans. They rely on this argument why no rank waits forever:
//
//     rank 0   pass 0 | gather | post .......... pass 1 | gather | post ...
//     rank 1   pass 0 | gather | post .... pass 1 .... | gather | post ...
//                                   \___ waits for what was posted after pass 0
//
// All ranks run the same passes, steps and number of micro-batches (SameCheck). So they gather and post
// equally often and in the same order. They post from one list of transfers. If sender and receiver both
// follow its order, each message is the one that the receiver expects next (transfers.cpp). Posting does not
// wait.
// A rank waits in two cases. First, for messages posted after earlier passes: rows are sent after the pass
// that writes them and are read in later passes. Second, for all ranks to gather in the current pass.
// Consider the waiting ranks in the earliest pass. One of them waits for a rank that is running, or for a
// rank in the same gather. So some rank always makes progress.
namespace headroom::validation {

class GroupView {
 public:
  GroupView(const Plans& checked_plan, const Graph& checked_graph, const Extent& latent_extent);

  const Plans& plan;
  const Graph& graph;
  const Extent latent;
  std::vector<View> ranks;  ///< each rank's own plan; violations go to `findings` below
  Findings findings;

  /// `ranks[1]`, and `ranks[1].plan.passes[2]` of a place in that rank's plan.
  static std::string place(size_t rank);
  static std::string place(size_t rank, const std::string& of_plan);
};

/// Runs all checks: owners of rows, each plan by itself, equal passes, transfers and sent bytes.
std::vector<Violation> check_group(const Plans& plans, const Graph& graph, const Extent& latent);
/// Checks which rows each rank sends and when, and that each rank receives all rows that it reads from
/// others. Every rank's plan must be valid by itself, and all must have the same passes.
void check_transfers(GroupView& view);

}  // namespace headroom::validation
