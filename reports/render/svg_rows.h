#pragma once

#include <string>

#include "reports/figures/chart.h"

namespace headroom::reports {

/// A chart over categories, lying: a row for each, since their names are long. Very many rows are cut off,
/// with words that say so.
std::string svg_rows(const Chart& chart, const std::string& id, const std::string& description);

}  // namespace headroom::reports
