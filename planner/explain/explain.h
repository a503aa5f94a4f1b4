#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom::planner {

/// A plan as JSON for programs: `passes[]`, each with `reads[]`, `steps[]` and `keeps[]`. The plan must be
/// valid. Text for people: planner/explain/summary.h and schedule.h.
nlohmann::json explain_json(const Plan& plan, const Model& model);

/// The most bytes of kept tensors that a plan has in one tier at the same time.
int64_t most_bytes_in(MemoryTier tier, const Plan& plan, const Graph& graph);

/// The most bytes of a kept tensor that are on the device at the same time in a pass. A tensor in a lower
/// tier has only a window of blocks there: blocks just written by the sweep, or blocks being read and
/// prefetched.
int64_t window_bytes(const Graph& graph, const Plan& plan, const KeptTensor& kept, size_t pass);
/// Maximum over all passes that keep the tensor.
int64_t window_bytes(const Graph& graph, const Plan& plan, const KeptTensor& kept);

/// Distance to the fastest plan: "optimal", "fastest to within 0.1 %", "at most 3.2 % above the best", or a
/// text that no bound is known.
std::string gap_text(const Plan& plan);

/// Text for people: "throughout" or "per pass". Plan files use other keys (decoder/plan/plan.h).
const char* words_of(WeightResidency residency);

/// "12 tiles of 64x32": columns and rows of the first tile in the pass's grid, and whether bands carry rows.
std::string tiles_text(const Pass& pass);
/// "12 × 64x32": the same for tables.
std::string short_tiles_text(const Pass& pass);

/// Names of the convolutions that use the direct algorithm in a pass that otherwise uses Winograd: "a, b".
std::string direct_names(const Pass& pass, const Graph& graph);

/// Kept tensors from earlier passes that a pass reads, and the latent if it reads it. Excludes statistics.
std::set<TensorId> tensors_read(const Plan& plan, const Graph& graph, size_t pass);

/// A step in words, without its inputs: "conv conv_in halo 1".
std::string step_text(const Step& step, const Graph& graph);

}  // namespace headroom::planner
