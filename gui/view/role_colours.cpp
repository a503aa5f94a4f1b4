#include <QPalette>

#include "gui/view/chart_view.h"
#include "reports/figures/colours.h"

namespace headroom::gui {

QColor colour_of(reports::ColourRole colour_role, const QPalette& palette) {
  const reports::RoleColours& colours = reports::kRoleColours[static_cast<size_t>(colour_role)];
  return QColor(palette.color(QPalette::Base).lightness() < 128 ? colours.dark : colours.light);
}

}  // namespace headroom::gui
