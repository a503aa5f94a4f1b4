#pragma once

#include "reports/render/findings.h"
#include "reports/render/report.h"

namespace headroom::reports {

/// Of the first run: what the untiled decode needs, the limit, and what was measured; the other runs in a
/// sentence each. Where no file is of a decode, of a memory history, a frontier or a profile what it found;
/// without figures where there is nothing of these.
Headline headline_of(const Findings& found);

// Of files without a decode.

Headline history_headline(const Findings& found);
Headline frontier_headline(const FrontierDocument& frontier);
Headline profile_headline(const profiler::Profile& profile);

KeyFigure key_figure(const std::string& what, int64_t bytes, const std::string& basis, ColourRole role);

}  // namespace headroom::reports
