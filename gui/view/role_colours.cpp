#include <QPalette>

#include "gui/view/chart_view.h"

namespace headroom::gui {
namespace {

struct ColourRoleShades {
  const char *light, *dark;
};

/// Hues of Okabe and Ito (2008), which people with any common colour blindness can tell apart; shades for
/// dark backgrounds are lifted where they would drown. A GPU's libraries and its context have the two darker
/// hues that are left furthest from all of these. Lines that cross areas have hues of their own or are
/// dashed; the driver's count is drawn over all of them, in black or white.
ColourRoleShades shades_of(reports::ColourRole colour_role) {
  switch (colour_role) {
    case reports::ColourRole::weights:
      return {"#0072b2", "#3b9bd6"};
    case reports::ColourRole::latent:
      return {"#cc79a7", "#d992b8"};
    case reports::ColourRole::materialised:
      return {"#e69f00", "#e8ab2a"};
    case reports::ColourRole::tile:
      return {"#56b4e9", "#8acdf3"};
    case reports::ColourRole::workspace:
      return {"#009e73", "#27b98d"};
    case reports::ColourRole::slack:  // free memory: hardly more than the paper
      return {"#d5d9de", "#4b535c"};
    case reports::ColourRole::libraries:
      return {"#a83a00", "#b4502a"};
    case reports::ColourRole::context:
      return {"#7a45cf", "#8f55e8"};
    case reports::ColourRole::driver:
      return {"#000000", "#ffffff"};
    case reports::ColourRole::outside:
      return {"#8c8c8c", "#a6a6a6"};
    case reports::ColourRole::predicted:
      return {"#0072b2", "#56b4e9"};
    case reports::ColourRole::measured:
      return {"#d55e00", "#f08a3c"};
    case reports::ColourRole::untiled:
      return {"#777777", "#a0a0a0"};
    case reports::ColourRole::planned:
      return {"#0072b2", "#56b4e9"};
    case reports::ColourRole::limit:
      return {"#b3001b", "#ff6b6b"};
    case reports::ColourRole::neutral:
      return {"#555b63", "#aab1ba"};
    case reports::ColourRole::other:
      return {"#882255", "#d07ab0"};
  }
  return {"#555b63", "#aab1ba"};
}

}  // namespace

QColor colour_of(reports::ColourRole colour_role, const QPalette& palette) {
  const ColourRoleShades shades = shades_of(colour_role);
  return QColor(palette.color(QPalette::Base).lightness() < 128 ? shades.dark : shades.light);
}

}  // namespace headroom::gui
