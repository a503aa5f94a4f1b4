#pragma once

#include "gui/model/workspace.h"

class QWidget;

namespace headroom::gui {

/// Before the plan in use is lost: where no file of the user's has it, asks whether to save it. False where
/// the user cancels or the file cannot be written.
bool may_lose_used_plan(Workspace& workspace, QWidget* parent);

}  // namespace headroom::gui
