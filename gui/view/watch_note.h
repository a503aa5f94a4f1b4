#pragma once

#include <QString>
#include <optional>

#include "reports/figures/driver_count.h"

namespace headroom::gui {

/// How far a GPU's trace can be trusted, in few words: who watched and who did not hear anything, what was
/// lost, how far the driver's count was from ours. Empty of a trace of the CPU.
QString watch_note(const Trace& trace, const std::optional<reports::DriverDifference>& difference);

}  // namespace headroom::gui
