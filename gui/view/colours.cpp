#include "gui/view/colours.h"

#include <QPalette>
#include <cmath>

#include "gui/view/decoder_canvas.h"
#include "reports/figures/chart.h"

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

QColor colour_of(MemoryTier tier, const QPalette& palette) {
  switch (tier) {
    case MemoryTier::device:
      return colour_of(reports::ColourRole::kept, palette);
    case MemoryTier::host:
      return colour_of(reports::ColourRole::latent, palette);
    case MemoryTier::scratch:
      return colour_of(reports::ColourRole::workspace, palette);
  }
  return colour_of(reports::ColourRole::neutral, palette);
}

QString words_of(MemoryTier tier) {
  switch (tier) {
    case MemoryTier::device:
      return DecoderCanvas::tr("on the device");
    case MemoryTier::host:
      return DecoderCanvas::tr("in host memory");
    case MemoryTier::scratch:
      return DecoderCanvas::tr("in the scratch file");
  }
  return {};
}

}  // namespace headroom::gui
