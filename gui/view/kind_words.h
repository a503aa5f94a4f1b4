#pragma once

#include <QCoreApplication>
#include <QString>
#include <optional>
#include <string>

#include "decoder/trace/memory_kind.h"

namespace headroom::gui {

/// Names of kinds of memory for legends, and a sentence on each, in the window's language.
class KindWords {
  Q_DECLARE_TR_FUNCTIONS(headroom::gui::KindWords)
 public:
  static QString name(MemoryKind kind);
  static QString explanation(MemoryKind kind);
  /// The kind with this title_of().
  static std::optional<MemoryKind> kindOf(const std::string& title);
};

}  // namespace headroom::gui
