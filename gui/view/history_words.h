#pragma once

#include <QStringList>

#include "profiler/history/memory_history.h"
#include "reports/figures/decoder_need.h"

namespace headroom::gui {

/// The peak, who asked last and what the allocator could not use, in the window's language: a sentence each.
QStringList history_words(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device);

/// What was live at a moment, as the caption of its tables.
QString moment_words(const profiler::DeviceHistory& device, size_t moment);

/// The smallest limit beside the recorded peak, and what fits what PyTorch had.
QStringList need_words(const reports::DecoderNeed& need, const profiler::DeviceHistory& device);

}  // namespace headroom::gui
