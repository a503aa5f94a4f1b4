#pragma once

#include "gui/model/workspace.h"

namespace headroom::gui {

/// Statistics of a run of this plan, from the open files. Prefers chosen files. Null if there are none.
reports::DocumentPtr run_of_plan(const Workspace& workspace, const reports::DocumentPtr& plan);

}  // namespace headroom::gui
