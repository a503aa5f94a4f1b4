#pragma once

#include "gui/view/page.h"
#include "reports/figures/table.h"

namespace headroom::gui {

/// Exports a widget as it looks on the screen.
Export painting_of(QWidget& widget, const QString& name);
Export csv_of(const reports::Table& table, const QString& name);

}  // namespace headroom::gui
