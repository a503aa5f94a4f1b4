#pragma once

#include <string>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::reports {

// How far a GPU's trace can be trusted, in plain words; nothing of a trace of the CPU.

/// Who watched the decode, who did not hear anything and why, what was lost, and how far the driver's count
/// of memory was from ours. `timeline` is the trace's.
std::vector<std::string> watch_sentences(const Trace& trace, const Timeline& timeline);

/// Which of the GPU's activities are not where they belong: of no step, or not listed.
std::vector<std::string> activity_sentences(const Trace& trace);

}  // namespace headroom::reports
