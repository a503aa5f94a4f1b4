#pragma once

#include <string>
#include <vector>

#include "profiler/eager/recording_file.h"
#include "reports/figures/chart.h"
#include "reports/figures/peak.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// "512×512"; with frames and batch if above 1.
std::string variant_text(const profiler::RecordedEagerDecode& decode);

/// A row for each recorded decode: its peak, memory counted separately, Headroom's need, time, and the layer
/// and tensors of the peak. The highest peak stands out.
Table eager_table(const profiler::EagerRecording& recording);

/// A row for each layer, with a group for each decode: activation, workspace, live bytes and time. The
/// layers that ran at a peak stand out.
Table eager_layers_table(const profiler::EagerRecording& recording);

/// Live bytes over time, with the layer at the peak and what Headroom needs.
Chart eager_chart(const profiler::RecordedEagerDecode& decode);

/// Tensors live at the recorded peaks, the largest first, with a column for each decode.
Table eager_live_table(const profiler::EagerRecording& recording);

/// Compares the peak of diffusers' untiled decode with a plan's peak: bytes, the step that runs and the
/// tensors held. Adds a row for each decode in `recordings` with the plan's request. Without rows if
/// diffusers' code for the model is unknown. `plan` must hold a plan.
Table engines_table(const DocumentPtr& plan, const PeakDecision& decision,
                    const std::vector<DocumentPtr>& recordings = {});

/// Name and size of the largest held tensors.
std::string held_text(const std::vector<profiler::EagerTensor>& live);

}  // namespace headroom::reports
