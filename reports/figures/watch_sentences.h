#pragma once

#include <string>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::reports {

// Limits on the accuracy of a GPU's trace, in sentences. Empty for a trace of the CPU.

/// The sources that recorded the decode, the sources that failed and why, lost records, and the difference
/// between the driver's count of memory and ours. `timeline` is the trace's.
std::vector<std::string> watch_sentences(const Trace& trace, const Timeline& timeline);

/// Sentences on GPU activities that belong to no step or are not listed.
std::vector<std::string> activity_sentences(const Trace& trace);

}  // namespace headroom::reports
