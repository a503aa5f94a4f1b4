#pragma once

#include <QString>
#include <string>

#include "reports/figures/unit.h"

namespace headroom::gui {

/// A title, an explanation or a name of reports/figures in the window's language. Where it is made of a known
/// word and something else ("limit 592.0 MiB", "512×512"), the known word is translated and the rest stays.
QString figure_text(const std::string& text);

/// A number as the reports write it, its unit in the window's language.
QString figure_text(Unit unit, double value);

}  // namespace headroom::gui
