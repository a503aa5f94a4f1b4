#pragma once

#include <QColor>
#include <QPalette>
#include <QString>

#include "decoder/plan/plan.h"

namespace headroom::gui {

/// Where a kept tensor lies, as a colour and in words: "in host memory".
QColor colour_of(MemoryTier tier, const QPalette& palette);
QString words_of(MemoryTier tier);

}  // namespace headroom::gui
