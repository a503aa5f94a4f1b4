#pragma once

#include <string>

#include "reports/figures/chart_ranges.h"
#include "reports/render/report.h"

namespace headroom::reports {

// Drawings as <svg> elements for a page. They are 960 units wide and scale to their box. Colours are classes
// of page_style.h, so that light, dark and print choose them. `id` must be unique in its page, because the
// ids of <title> and <desc> contain it.

/// `axes` sets ranges shared with other charts. Pass false for `with_legend` if a chart above has the same
/// legend.
std::string svg_chart(const Chart& chart, const std::string& id, const ChartRanges* axes = nullptr,
                      bool with_legend = true);

}  // namespace headroom::reports
