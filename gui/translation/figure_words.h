#pragma once

#include <vector>

namespace headroom::gui {

/// Every title, explanation and name of reports/figures that windows show: they are written without Qt, and
/// listed here so that lupdate finds them.
const std::vector<const char*>& figure_words();

}  // namespace headroom::gui
