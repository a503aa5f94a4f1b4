#pragma once

#include "gui/view/page.h"

namespace headroom::gui {

/// A widget as it is on the screen, as PNG, SVG or PDF.
Export painting_of(QWidget& widget, const QString& name);

}  // namespace headroom::gui
