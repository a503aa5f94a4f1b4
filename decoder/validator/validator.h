#pragma once

#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// One thing that is wrong with a plan.
struct Violation {
  enum Kind {
    malformed,           ///< numbers out of range, or operands of the wrong count, kind or tensor
    read_before_write,   ///< a kept tensor is read before it is written, or is never kept
    read_after_release,  ///< a kept tensor is read after its last pass, or after another took its
                         ///< blocks
    missing_halo,        ///< a tile lacks positions that a step reads
    skipped_region,      ///< positions that no tile makes
    computed_twice,      ///< positions that two tiles or two steps write
    statistics_twice,    ///< positions counted twice in statistics
    statistics_missing,  ///< a norm whose statistics no step measures
    block_conflict,      ///< two tensors own a block at the same time
    misplaced,           ///< a tensor in a lower tier that must be on the device
    never_released,      ///< blocks that no step's reading frees
    wrong_output,        ///< the emitted tensor is not the output, or not emitted exactly once
    peak_above_limit,    ///< needed or predicted bytes exceed the limit of their tier
    peak_understated,    ///< predicted bytes are less than the bytes of tiles, blocks and weights
    not_owned,  ///< a transfer from a rank that does not own the rows, or to one that does not store them
    missing_transfer,   ///< a rank reads rows of another rank that it has not received
    ranks_differ,       ///< ranks do not run the same passes on the same tensors
    deadlock,           ///< ranks that send and receive in different orders would wait for one another
    traffic_misstated,  ///< a rank sends more or fewer bytes than predicted
  };
  Kind kind{};
  std::string place;  ///< as in the plan file, e.g. `passes[3].steps[2] (decoder.conv_in)`
  std::string what;
  friend bool operator==(const Violation&, const Violation&) = default;
};
const char* name_of(Violation::Kind kind);

/// Checks a plan against the graph alone. Shares no code with the planner or the runtime, except the data
/// structures. Follows every tensor from the latent to the output, position by position, and every block from
/// owner to owner. Adds up the bytes again. Returns the violations, at most 20 entries. A plan without
/// violations decodes exactly. Never throws on the plan's data, however odd. `latent` is the extent that the
/// plan decodes.
std::vector<Violation> validate(const Plan& plan, const Graph& graph, const Extent& latent);

/// Validates for the extent of the plan's own request.
std::vector<Violation> validate(const Plan& plan, const Model& model);

/// Validates all plans. Those of a group of ranks are also compared with each other:
/// - Every row has exactly one owner.
/// - All plans run the same passes.
/// - Every row that a rank reads from another arrives once, from its owner, after its pass.
/// - No rank waits in a cycle.
/// - The bytes that each rank sends are predicted correctly.
/// Places refer to the plan's file, such as `ranks[1].plan.kept[3] (decoder.conv_in)` and `transfers[7]`.
std::vector<Violation> validate(const Plans& plans, const Model& model);

/// Throws InputError with the first violation, if any. `origin` is the plan's file, for the message.
/// `planned` is the plan's name of its model. If it names a model other than `model`, throws ModelOfPlan with
/// both names.
void require_none(const std::vector<Violation>& violations, const std::string& planned, const Model& model,
                  const std::string& origin);

/// Validate and throw like require_none(). `origin` is the plan's file, for the message.
void require_valid(const Plan& plan, const Model& model, const std::string& origin);
void require_valid(const Plans& plans, const Model& model, const std::string& origin);

}  // namespace headroom
