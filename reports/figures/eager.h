#pragma once

#include <string>
#include <vector>

#include "profiler/eager/recorded_decode.h"
#include "reports/figures/chart.h"
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

}  // namespace headroom::reports
