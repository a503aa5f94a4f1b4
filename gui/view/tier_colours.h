#pragma once

#include <QColor>
#include <QPalette>
#include <QString>

#include "decoder/plan/plan.h"

namespace headroom::gui {

/// Memory tier of a kept tensor, as a colour and in words: "in host memory".
QColor colour_of(MemoryTier tier, const QPalette& palette);
QString words_of(MemoryTier tier);

}  // namespace headroom::gui
