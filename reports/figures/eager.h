#pragma once

#include <string>
#include <vector>

#include "profiler/eager/recorded_decode.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// "512×512, nchw", "2048×2048, channels-last, 9 tiles of 128"; with frames and batch where there is more
/// than one.
std::string variant_text(const profiler::RecordedEagerDecode& decode);

/// A row for each recorded decode: its peak, what is counted beside, slack, time, and the layer and tensors
/// of the peak. The highest stands out.
Table eager_table(const profiler::EagerRecording& recording);

/// A row for each layer, with a group for each decode: activation, workspace, slack, live bytes and time. The
/// layers that ran at a peak stand out.
Table eager_layers_table(const profiler::EagerRecording& recording);

/// What was held at the peaks, with a column for each decode, the largest first.
Table eager_live_table(const profiler::EagerRecording& recording);

}  // namespace headroom::reports
