#pragma once

#include "gui/model/workspace.h"

namespace headroom::gui {

/// Statistics of a run of this plan among the open files, the chosen ones first; null where there are none.
reports::DocumentPtr run_of_plan(const Workspace& workspace, const reports::DocumentPtr& plan);

}  // namespace headroom::gui
