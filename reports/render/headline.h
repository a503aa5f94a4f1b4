#pragma once

#include "reports/render/findings.h"
#include "reports/render/report.h"

namespace headroom::reports {

/// Headline of the first run: the untiled peak, the limit and the measured or predicted peak. The other runs
/// get a sentence each. Without runs it shows the first memory history, frontier or profile. It may have no
/// figures.
Headline headline_of(const Findings& found);

// Headlines of reports without runs.

Headline history_headline(const Findings& found);
Headline frontier_headline(const FrontierDocument& frontier);
Headline profile_headline(const profiler::Profile& profile);

KeyFigure key_figure(const std::string& what, int64_t bytes, const std::string& basis, ColourRole role);

}  // namespace headroom::reports
