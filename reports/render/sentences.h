#pragma once

#include <string>
#include <vector>

#include "reports/render/findings.h"

namespace headroom::reports {

// Sentences with figures. Texts from files are inserted without escaping.

/// The plan, the cause of its peak, and the difference between the run and its plan.
std::vector<std::string> run_sentences(const Findings& found, const ReportedRun& run);

/// Requirements of a plan for several ranks, and the time that ranks waited for one another.
std::vector<std::string> shared_run_sentences(const SharedRun& run);

/// Sentences on scaling, profiles and frontiers.
std::vector<std::string> other_sentences(const Findings& found);

/// "Untiled, sdxl at 512×512 in fp32 took …", "Plans of sdxl … reach from …". Empty if there are no data.
std::string profile_sentence(const profiler::Profile& profile);
std::string frontier_sentence(const FrontierDocument& frontier);

/// "pass 3 (decoder.conv_in) decides the peak: …" of one plan.
std::string peak_sentence(const PeakDecision& decision);

/// "sdxl 1024×1024 fp32, batch 2".
std::string request_text(const Request& request);

/// "592.0 MiB", or "no limit".
std::string limit_text(int64_t limit_bytes);

}  // namespace headroom::reports
