#pragma once

#include "reports/figures/document.h"
#include "reports/figures/table.h"

namespace headroom::reports {

// GPU activity during a traced decode. Tables have no rows if the trace did not record the GPU.

/// A row for each pass, all micro-batches together: the host's time, and the GPU's time for its steps.
Table gpu_passes_table(const RecordedTrace& trace);

/// The steps that took the GPU longest, and all others as one row.
Table gpu_steps_table(const RecordedTrace& trace);

/// Kernels, copies and fills by their name, longest first: calls, time, share of all of it, bytes, and the
/// rate of copies. The last row sums up the rest.
Table activities_table(const RecordedTrace& trace);

/// Busy time of each stream, in seconds and as a share of the decode. With several streams, a last row counts
/// the time in which any was busy.
Table streams_table(const RecordedTrace& trace);

/// All of these tables that have rows, in this order.
std::vector<Table> gpu_tables(const RecordedTrace& trace);

}  // namespace headroom::reports
