#pragma once

#include <string>
#include <vector>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// One thing that is wrong with a plan.
struct Violation {
  enum Kind {
    malformed,           ///< numbers out of range, operands of the wrong count, kind or tensor
    read_before_write,   ///< a kept tensor is read before it is written, or is never kept
    read_after_release,  ///< a kept tensor is read after its last pass, or after another took its
                         ///< blocks
    missing_halo,        ///< a tile lacks positions that a step reads
    skipped_region,      ///< positions that no tile makes
    computed_twice,      ///< positions that two tiles or two steps write
    statistics_twice,    ///< positions that count twice in a mean and deviation
    statistics_missing,  ///< a norm whose statistics no step measures
    block_conflict,      ///< a block in the hands of two tensors
    misplaced,           ///< a tensor lives below the device that must be on it
    never_released,      ///< blocks that no step's reading hands back
    wrong_output,        ///< what is emitted is not the output, exactly once
    peak_above_limit,    ///< needed or predicted bytes pass the limit of their tier
    peak_understated,    ///< predicted bytes are fewer than tiles, blocks and weights take
    not_owned,           ///< rows leave a rank that does not own them, or go to one that does not store them
    missing_transfer,    ///< a rank reads rows of another one that have not come
    ranks_differ,        ///< ranks do not run the same passes on the same tensors
    deadlock,            ///< ranks that send and expect in another order would wait for one another
    traffic_misstated,   ///< bytes that a rank sends are others than those predicted
  };
  Kind kind{};
  std::string place;  ///< as in the plan file, e.g. `passes[3].steps[2] (decoder.conv_in)`
  std::string what;
  friend bool operator==(const Violation&, const Violation&) = default;
};
const char* name_of(Violation::Kind kind);

/// Checks a plan against the graph alone: nothing here is shared with the code that makes plans or runs them.
/// Follows every tensor from the latent to the output, position by position, every block from owner to owner,
/// and adds up the bytes again. Returns what is wrong, at most 20 entries; a plan with none decodes exactly.
/// Never throws on the plan's data, however odd. `latent` is the extent that the plan is to decode.
std::vector<Violation> validate(const Plan& plan, const Graph& graph, const Extent& latent);

/// Validates for the extent that the plan's own request asks for.
std::vector<Violation> validate(const Plan& plan, const Model& model);

/// Throws InputError with the first of them, if any. `origin` is the plan's file, for the message. Where
/// `planned`, the plan's name of its model, names another one than `model`, throws ModelOfPlan naming both.
void require_none(const std::vector<Violation>& violations, const std::string& planned, const Model& model,
                  const std::string& origin);

/// Throws what require_none() does. `origin` is the plan's file, for the message.
void require_valid(const Plan& plan, const Model& model, const std::string& origin);

}  // namespace headroom
