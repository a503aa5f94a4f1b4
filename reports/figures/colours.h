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

/// Colours by ColourRole, for reports and for the window. Each has a contrast of 3:1 or more against the
/// background of its theme. They stay distinct with the common kinds of colour blindness (after Okabe and
/// Ito). Lines also differ in their dashes, and points in their shapes. Only kinds that never share a device
/// may look alike: `outside` is the CPU's; slack, libraries and context are a GPU's.
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
