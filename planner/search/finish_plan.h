#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decoder/gpu/calls/device_memory.h"
#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"
#include "planner/search/configurations.h"

namespace headroom::planner {

struct PlacedPass {
  /// Highest used offset of the reservation, plus a picture that stays in memory.
  int64_t reserved_bytes = 0;
  /// Sizes of the copies that move tensors before the pass, in each micro-batch.
  std::vector<int64_t> copied_bytes;
};

/// Adds a CUDA plan's fragmentation to its reserve and to its predicted peaks. On CUDA all memory comes from
/// one reservation on the device and one in host memory, so gaps arise between live allocations. A dry run
/// (decoder/gpu/dry_run.h) finds them. The allocator's rounding counts as well. Raises the plan's limits if
/// the gaps do not fit.
///
/// Returns an entry for each pass. Plans for the CPU have no such gaps, because the CPU's pool maps pages on
/// demand: they stay unchanged, and the result is empty.
std::vector<PlacedPass> add_gaps(Plan& plan, const Model& model, const ReservationSizes& sizes = {});

/// Bytes that a plan needs, by pass of the space: the most live bytes, and the highest used offset of the
/// reservation (add_gaps()). 0 for passes that do not run.
struct PlacedBytes {
  std::vector<int64_t> live, reserved;
};

/// By pass of the space: bytes below the limit that the pass must leave unused, so that gaps find room
/// (SearchLimits::held_back_bytes).
using HeldBack = std::vector<int64_t>;

/// Passes that must use less memory because the plan's reservation exceeds the limit. They are the passes
/// that exceed it by at least their free bytes. If there are none, the fullest pass that exceeds the limit.
/// Empty if the plan has room.
std::vector<size_t> crowded_passes(const PlacedBytes& placed, int64_t limit_bytes);

/// Raises `held_back` for these passes, so that each gets below its live bytes in this plan. It goes below
/// them by `share` of the bytes by which its reservation exceeds the limit.
HeldBack narrowed(HeldBack held_back, const std::vector<size_t>& passes, const PlacedBytes& placed,
                  int64_t limit_bytes, double share);

/// Effort spent on finding a plan with room for its gaps.
struct GapSearch {
  Deadline deadline{};  ///< for the searches for a plan that needs less
  /// If no search finds a plan with room, try the plan that needs least. This may take a second, whatever the
  /// deadline.
  bool tries_smallest = true;
};

/// Turns the result of a search into a complete plan, ready to be written to a file. The plan is within the
/// problem's limits and has its start time and bound. It is `optimal` if the bound proves it. It is not the
/// fastest one if a smaller one is within the problem's thrift (planner/search/thrift.h).
///
/// On CUDA the plan that the search found may leave no room for gaps between its allocations. Then the search
/// runs again with a smaller limit on live bytes. Returns nothing if no plan fits with its gaps. `found` must
/// have a best plan.
std::optional<Plan> finish_plan(const Problem& problem, const Spaces& spaces,
                                const ConfigurationSearch& found, const GapSearch& gaps = {});

/// The fastest plan among those with the fewest live bytes. Its limit is its own peak, and make_plan() always
/// finds a plan under that limit. On CUDA, a slightly smaller limit may work too if another plan has smaller
/// gaps.
Plan smallest_plan(const Problem& problem, const Spaces& spaces);

/// A plan with equally few live bytes, found sooner but possibly slower. Its seconds are not corrected by
/// earlier decodes (CostModel::learnt). On CUDA it has other gaps.
/// make_plan() always finds a plan under its limit, too.
Plan quick_smallest_plan(const Problem& problem, const Spaces& spaces);

/// Limit of a plan as by quick_smallest_plan(), found even sooner. On CUDA, gaps of up to a fiftieth of the
/// live bytes are accepted without looking for smaller ones.
int64_t small_limit_bytes(const Problem& problem, const Spaces& spaces);

/// Memory and time of a solution under the smallest limit that has room for it.
struct Needed {
  int64_t limit_bytes = 0;  ///< its live bytes, and on CUDA the gaps between them
  double seconds = 0;       ///< on CUDA with the copies that move tensors between passes
};
Needed needed_by(const Problem& problem, const ConfigurationSearch::Best& best);

/// The plan of one solution, checked by the validator. Throws std::logic_error if the plan is invalid, since
/// that is a bug in the planner. On CUDA the plan includes its gaps (planner/search/finish_plan.h), and its
/// limits exceed the options' limits if the gaps do not fit. The bound is not set yet.
Plan plan_of(const Problem& problem, const ConfigurationSearch::Best& best);

}  // namespace headroom::planner
