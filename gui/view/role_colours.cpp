#include <QPalette>
#include <array>

#include "gui/view/chart_view.h"

namespace headroom::gui {
namespace {

struct Shades {
  const char *light, *dark;
};

/// By ColourRole. Hues of Okabe and Ito (2008), which people with any common colour blindness can tell apart.
/// Shades for dark backgrounds are lifted where they would drown. A GPU's libraries and its context have the
/// two darker hues that are left furthest from all of these. Lines that cross areas have hues of their own or
/// are dashed. The driver's count is drawn over all of them, in black or white.
constexpr std::array<Shades, reports::kColourRoles> kShades{{
    {"#0072b2", "#3b9bd6"},  // weights
    {"#cc79a7", "#d992b8"},  // latent
    {"#e69f00", "#e8ab2a"},  // materialised
    {"#56b4e9", "#8acdf3"},  // tile
    {"#009e73", "#27b98d"},  // workspace
    {"#d5d9de", "#4b535c"},  // slack, free memory: hardly more than the paper
    {"#a83a00", "#b4502a"},  // libraries
    {"#7a45cf", "#8f55e8"},  // context
    {"#8c8c8c", "#a6a6a6"},  // outside
    {"#000000", "#ffffff"},  // driver
    {"#0072b2", "#56b4e9"},  // predicted
    {"#d55e00", "#f08a3c"},  // measured
    {"#777777", "#a0a0a0"},  // untiled
    {"#0072b2", "#56b4e9"},  // planned
    {"#b3001b", "#ff6b6b"},  // limit
    {"#555b63", "#aab1ba"},  // neutral
    {"#882255", "#d07ab0"},  // other
}};

}  // namespace

QColor colour_of(reports::ColourRole colour_role, const QPalette& palette) {
  const Shades& shades = kShades[static_cast<size_t>(colour_role)];
  return QColor(palette.color(QPalette::Base).lightness() < 128 ? shades.dark : shades.light);
}

}  // namespace headroom::gui
