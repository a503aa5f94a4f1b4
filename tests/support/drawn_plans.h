#pragma once

#include <limits>
#include <set>
#include <string>

#include "decoder/schedule/blocks.h"
#include "tests/decoder/files/scratch.h"

namespace headroom::test {

/// Names of all norms. The planner never keeps their outputs, so they are not rounded.
inline std::set<std::string> norms_of(const Graph& graph) {
  std::set<std::string> names;
  for (const Op& op : graph.ops()) {
    if (op.kind == OpKind::norm || op.kind == OpKind::rms_norm) names.insert(op.name);
  }
  return names;
}

inline Plan unlimited(Plan plan) {
  plan.limit_bytes = std::numeric_limits<int64_t>::max();
  return plan;
}

/// Sets the memory limit and the scratch limit to exactly the predicted bytes. Returns true if the plan keeps
/// a tensor in the scratch file.
inline bool limit_to_prediction(const Graph& graph, const Scratch& scratch, Plan& plan) {
  plan.limit_bytes = plan.predicted_peak_bytes;
  plan.scratch_folder = scratch.folder();
  const ScratchLayout layout = scratch_layout(graph, plan);
  plan.scratch_limit_bytes = layout.slots * layout.slot_bytes;
  return layout.slots > 0;
}

}  // namespace headroom::test
