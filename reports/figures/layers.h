#pragma once

#include <string>

#include "profiler/profile/profile.h"
#include "reports/figures/chart.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// "512×512"; with frames and batch if above 1.
std::string size_text(const profiler::ProfiledSize& size);

/// A row for each layer: kind, latency table, and a group for each size. A group has activation, workspace,
/// live bytes, FLOPs and time. Layers that ran at a size's peak stand out, and so do the layers of the
/// largest tensors kept at that moment.
Table layers_table(const profiler::Profile& profile);

/// Tensors live at the peak of profiled size `size`, largest first.
Table peak_live_table(const profiler::Profile& profile, size_t size);

/// Time against the positions of a tile for one latency table, with a line for each number of columns.
Chart latency_table_chart(const profiler::LatencyTable& latency_table);

}  // namespace headroom::reports
