#include <QPalette>

#include "gui/view/chart_view.h"

namespace headroom::gui {
namespace {

struct InkShades {
  const char *light, *dark;
};

/// Hues of Okabe and Ito (2008), which people with any common colour blindness can tell apart; shades for
/// dark backgrounds are lifted where they would drown. A GPU's libraries and its context have the two darker
/// hues that are left furthest from all of these. Lines that cross areas have hues of their own or are
/// dashed; the driver's count is drawn over all of them, in black or white.
InkShades shades_of(Ink ink) {
  switch (ink) {
    case Ink::weights:
      return {"#0072b2", "#3b9bd6"};
    case Ink::latent:
      return {"#cc79a7", "#d992b8"};
    case Ink::kept:
      return {"#e69f00", "#e8ab2a"};
    case Ink::tile:
      return {"#56b4e9", "#8acdf3"};
    case Ink::workspace:
      return {"#009e73", "#27b98d"};
    case Ink::slack:  // free memory: hardly more than the paper
      return {"#d5d9de", "#4b535c"};
    case Ink::libraries:
      return {"#a83a00", "#b4502a"};
    case Ink::context:
      return {"#7a45cf", "#8f55e8"};
    case Ink::driver:
      return {"#000000", "#ffffff"};
    case Ink::outside:
      return {"#8c8c8c", "#a6a6a6"};
    case Ink::predicted:
      return {"#0072b2", "#56b4e9"};
    case Ink::measured:
      return {"#d55e00", "#f08a3c"};
    case Ink::untiled:
      return {"#777777", "#a0a0a0"};
    case Ink::planned:
      return {"#0072b2", "#56b4e9"};
    case Ink::limit:
      return {"#b3001b", "#ff6b6b"};
    case Ink::neutral:
      return {"#555b63", "#aab1ba"};
    case Ink::other:
      return {"#882255", "#d07ab0"};
  }
  return {"#555b63", "#aab1ba"};
}

}  // namespace

QColor colour_of(Ink ink, const QPalette& palette) {
  const InkShades shades = shades_of(ink);
  return QColor(palette.color(QPalette::Base).lightness() < 128 ? shades.dark : shades.light);
}

}  // namespace headroom::gui
