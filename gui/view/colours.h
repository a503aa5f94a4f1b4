#pragma once

#include <QColor>
#include <QPalette>
#include <QString>

#include "decoder/plan/plan.h"
#include "reports/figures/chart.h"

namespace headroom::gui {

/// Colour of a role. Light and dark palettes have different ones.
QColor colour_of(reports::ColourRole colour_role, const QPalette& palette);
/// Black or white, the one with more contrast on `ground`.
QColor ink_on(const QColor& ground);

/// Memory tier of a kept tensor, as a colour and in words: "in host memory".
QColor colour_of(MemoryTier tier, const QPalette& palette);
QString words_of(MemoryTier tier);

}  // namespace headroom::gui
