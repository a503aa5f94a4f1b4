#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "decoder/base/json_fields.h"
#include "decoder/graph/graph.h"
#include "decoder/plan/ranked_plan.h"

namespace headroom {

/// A file with more transfers is rejected. All ranks send keys and values to all others: two transfers for
/// each pair of ranks.
constexpr size_t kMostTransfers = 1'000'000;

/// True if a file of the schema "headroom.plan" has the plans of several ranks, not one plan.
bool has_ranks(const JsonFields& file);

/// The plan as docs/formats.md describes it.
nlohmann::json to_json(const RankedPlan& plan, const Graph& graph);

/// Checks the range of every number. The validator checks whether the plan is correct. A rank's index in the
/// list is its number. Throws InputError naming the file and the key.
RankedPlan ranked_plan_from_json(const JsonFields& file, const Graph& graph);

/// Writes the file whole or not at all. Throws DeviceError.
void write_ranked_plan(const std::filesystem::path& file, const RankedPlan& plan, const Graph& graph);

}  // namespace headroom
