#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom::planner {

/// A plan for programs: a document with `passes[]` and, in each, `reads[]`, `steps[]` and `keeps[]`. Only for
/// valid plans. For people: planner/explain/summary.h and schedule.h.
nlohmann::json explain_json(const Plan& plan, const Model& model);

/// The most bytes that a plan keeps in one tier at one time.
int64_t most_bytes_in(MemoryTier tier, const Plan& plan, const Graph& graph);

/// The most bytes of a kept tensor that are on the device at one time in a pass. For a tensor in a lower tier
/// that is a window of blocks: those that the sweep has just written, or reads and fetches ahead.
int64_t window_bytes(const Graph& graph, const Plan& plan, const KeptTensor& kept, size_t pass);
/// Maximum over all passes that keep the tensor.
int64_t window_bytes(const Graph& graph, const Plan& plan, const KeptTensor& kept);

/// How far the plan may be from the fastest one: "optimal", "at most 3.2 % above the best", or that nothing
/// is known.
std::string gap_text(const Plan& plan);

/// For people: "throughout" on the device, or "per pass". Files have keys of their own (decoder/plan/plan.h).
const char* words_of(WeightResidency residency);

/// "12 tiles of 64x32": columns and rows of the first, in the pass's grid, and whether bands hand rows on.
std::string tiles_text(const Pass& pass);
/// "12 × 64x32": the same for tables.
std::string short_tiles_text(const Pass& pass);

/// Names of the convolutions that are direct where the others of their pass are in Winograd form: "a, b".
std::string direct_names(const Pass& pass, const Graph& graph);

/// Tensors that a pass reads from earlier passes, and the latent if it reads it. Excludes statistics.
std::set<TensorId> tensors_read(const Plan& plan, const Graph& graph, size_t pass);

/// A step in words, without its inputs: "conv conv_in halo 1".
std::string step_text(const Step& step, const Graph& graph);

}  // namespace headroom::planner
