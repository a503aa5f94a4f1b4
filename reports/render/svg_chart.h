#pragma once

#include <string>

#include "reports/figures/chart_ranges.h"
#include "reports/render/report.h"

namespace headroom::reports {

// Drawings as <svg> elements for a page: 960 wide, as high as they need to be, scaled to their box. Colours
// are the classes of page_style.h, so that light, dark and print choose them. `id` is unique in its page:
// <title> and <desc> are named by it.

/// `axes` where other charts have the same ones; without a legend where that of a chart above stands for it.
std::string svg_chart(const Chart& chart, const std::string& id, const ChartRanges* axes = nullptr,
                      bool with_legend = true);

}  // namespace headroom::reports
