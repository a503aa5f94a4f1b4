#pragma once

#include "reports/figures/document.h"
#include "reports/figures/table.h"

namespace headroom::reports {

// What a GPU did during a traced decode. Tables have no rows where it was not watched.

/// Micro-batches of a pass together: the host's time, and the GPU's for its steps.
Table gpu_passes_table(const RecordedTrace& trace);

/// The steps that took the GPU longest, and all others as one row.
Table gpu_steps_table(const RecordedTrace& trace);

/// Kernels, copies and fills by their name, longest first: calls, time, share of all of it, bytes, and the
/// rate of copies. The last row has all that are not shown one by one.
Table activities_table(const RecordedTrace& trace);

/// How long each stream was busy, and of what share of the decode; where there are several, a last row for
/// when any was.
Table streams_table(const RecordedTrace& trace);

/// Those of all these tables that have rows, in this order.
std::vector<Table> gpu_tables(const RecordedTrace& trace);

}  // namespace headroom::reports
