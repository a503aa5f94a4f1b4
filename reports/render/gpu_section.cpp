#include "reports/figures/gpu_work.h"
#include "reports/figures/watch_sentences.h"
#include "reports/render/sections.h"

namespace headroom::reports {

Section gpu_section(const Findings& found) {
  Section section{"What the GPU did", {}};
  for (const ReportedRun& run : found.runs) {
    if (run.recorded() == nullptr) continue;
    Part part;
    part.heading = heading_of(found, run);
    part.sentences = activity_sentences(run.recorded()->trace);
    part.tables = gpu_tables(*run.recorded());
    if (!part.sentences.empty() || !part.tables.empty()) section.parts.push_back(std::move(part));
  }
  return section;
}

}  // namespace headroom::reports
