#pragma once

#include <string>

#include "profiler/profile/profile.h"
#include "reports/figures/chart.h"
#include "reports/figures/table.h"

namespace headroom::reports {

/// "512×512", with frames and batch where there is more than one.
std::string size_text(const profiler::ProfiledSize& size);

/// A row for each layer: kind, latency table, and for each size a group of activation, workspace, live bytes,
/// FLOPs and time. The layers that ran at a size's peak stand out, and so do those whose kept tensors
/// were then the largest.
Table layers_table(const profiler::Profile& profile);

/// Tensors live at the peak of profiled size `size`, largest first.
Table peak_live_table(const profiler::Profile& profile, size_t size);

/// A latency table's time against the positions of a tile, one line for each number of columns: on demand,
/// for one layer.
Chart latency_table_chart(const profiler::LatencyTable& latency_table);

}  // namespace headroom::reports
