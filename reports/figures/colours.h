#pragma once

#include <array>

#include "reports/figures/chart.h"

namespace headroom::reports {

/// The colour of a role on light and on dark paper, as "#rrggbb".
struct RoleColours {
  const char* name;  ///< in style sheets
  const char* light;
  const char* dark;
};

/// By ColourRole, for reports and for the window. Each has a contrast of 3:1 or more against the paper of
/// both themes, and they are told apart with the common kinds of colour blindness (after Okabe and Ito);
/// lines differ in their dashes as well, points in their shapes. Of kinds that never stand on one device
/// together (what is outside is the CPU's; slack, libraries and context are a GPU's) some are alike to some
/// eyes.
constexpr std::array<RoleColours, kColourRoles> kRoleColours{{
    {"weights", "#47515c", "#c3ccd6"},
    {"latent", "#6b4a00", "#ffe27a"},
    {"kept", "#1570c0", "#3b8fd4"},
    {"tile", "#e06c00", "#e2741c"},
    {"workspace", "#12946a", "#3fc49a"},
    {"slack", "#8a939c", "#6b7580"},
    {"libraries", "#5a1010", "#786048"},
    {"context", "#8a2be2", "#9048f0"},
    {"outside", "#cf6fbd", "#a8579a"},
    {"driver", "#000000", "#ffffff"},
    {"predicted", "#1570c0", "#3b8fd4"},
    {"measured", "#e06c00", "#e2741c"},
    {"untiled", "#66707c", "#9aa5b1"},
    {"planned", "#1570c0", "#3b8fd4"},
    {"limit", "#a3123f", "#ff8aa6"},
    {"neutral", "#3b434c", "#c3cbd3"},
    {"other", "#7440b8", "#b592f2"},
}};

}  // namespace headroom::reports
