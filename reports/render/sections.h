#pragma once

#include "reports/render/findings.h"
#include "reports/render/report.h"

namespace headroom::reports {

/// Adds the limit of --limit to a chart, if one was given.
Chart with_other_limit(Chart chart, const Findings& found);

/// True if there are several runs, so that parts need headings to tell them apart.
bool several_runs(const Findings& found);
/// Heading of one run's parts: its files, or empty if there is only one run.
std::string heading_of(const Findings& found, const ReportedRun& run);

// The sections of a report. Parts without data are omitted.

Section summary_section(const Findings& found);
Section history_section(const Findings& found);
Section ranks_section(const Findings& found);
Section memory_section(const Findings& found);
Section lower_section(const Findings& found);
Section peak_section(const Findings& found);
Section passes_section(const Findings& found);
Section gpu_section(const Findings& found);
Section kept_section(const Findings& found);
Section eager_section(const Findings& found);
Section layers_section(const Findings& found);
Section scaling_section(const Findings& found);
Section frontier_section(const Findings& found);
Section comparison_section(const Findings& found);
Section files_section(const Findings& found);

}  // namespace headroom::reports
