#pragma once

namespace headroom {

/// Width of the terminal on standard output, in columns, between 40 and 400. Uses COLUMNS if set, then the
/// terminal's size, then 80.
int terminal_width();

}  // namespace headroom
