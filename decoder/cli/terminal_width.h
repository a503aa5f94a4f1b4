#pragma once

namespace headroom {

/// Columns of the terminal that standard output goes to: COLUMNS where that is set, as the terminal says
/// otherwise, and 80 where nothing is known. From 40 to 400.
int terminal_width();

}  // namespace headroom
