#pragma once

#include <string>
#include <vector>

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
