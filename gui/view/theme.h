#pragma once

#include <QString>

namespace headroom::gui {

/// `system` follows the desktop; the others are palettes of ours in Qt's own style.
enum class Theme { system, light, dark };

/// "system", "light", "dark": for settings and the command line.
QString name_of(Theme theme);
Theme theme_named(const QString& name);  ///< `system` where there is no such name

/// Of the whole application, at once.
void apply_theme(Theme theme);

}  // namespace headroom::gui
