#include <QPalette>
#include <cmath>

#include "gui/view/chart_view.h"
#include "reports/figures/colours.h"

namespace headroom::gui {

QColor colour_of(reports::ColourRole colour_role, const QPalette& palette) {
  const reports::RoleColours& colours = reports::kRoleColours[static_cast<size_t>(colour_role)];
  return QColor(palette.color(QPalette::Base).lightness() < 128 ? colours.dark : colours.light);
}

// Uses WCAG 2's relative luminance. At this threshold, black and white have equal contrast.
QColor ink_on(const QColor& ground) {
  const auto linear = [](double value) {
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  const double luminance =
      0.2126 * linear(ground.redF()) + 0.7152 * linear(ground.greenF()) + 0.0722 * linear(ground.blueF());
  return luminance > 0.179 ? Qt::black : Qt::white;
}

}  // namespace headroom::gui
