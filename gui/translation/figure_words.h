#pragma once

#include <span>

namespace headroom::gui {

/// Every title, explanation and name of reports/figures that windows show: they are written without Qt, and
/// listed here so that lupdate finds them.
std::span<const char* const> figure_words();

}  // namespace headroom::gui
