#pragma once

#include <string>
#include <vector>

#include "reports/figures/document.h"
#include "reports/figures/table.h"
#include "reports/figures/timeline.h"

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

/// The part of a trace for these tables from `begin_seconds` to `end_seconds` of its timeline. Activities,
/// passes and steps that begin or end outside count with their part inside. If the trace's list of
/// activities ends before the range, the range grows to whole passes, which count with their whole sums. If
/// its list of steps ends before it, steps count with the host's whole time.
RecordedTrace within(const RecordedTrace& trace, double begin_seconds, double end_seconds);

/// All of these tables that have rows, in this order.
std::vector<Table> gpu_tables(const RecordedTrace& trace);

// Limits on the accuracy of a GPU's trace, in sentences. Empty for a trace of the CPU.

/// The sources that recorded the decode, the sources that failed and why, lost records, and the difference
/// between the driver's count of memory and ours. `timeline` is the trace's.
std::vector<std::string> watch_sentences(const Trace& trace, const Timeline& timeline);

/// Sentences on GPU activities that belong to no step or are not listed.
std::vector<std::string> activity_sentences(const Trace& trace);

}  // namespace headroom::reports
