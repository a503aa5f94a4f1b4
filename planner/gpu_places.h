#pragma once

#include "decoder/graph/model.h"
#include "decoder/plan/plan.h"

namespace headroom {

/// On CUDA all memory is one reservation, and what is live at one time has gaps between it. Rehearses the
/// plan and adds the gaps to its reserve and to its predicted peaks, which may then be above its limit. Plans
/// for the CPU stay as they are: its pool maps pages wherever they are needed.
void add_gaps(Plan& plan, const Model& model);

}  // namespace headroom
