#pragma once

#include <QCoreApplication>
#include <QString>
#include <optional>

#include "gui/model/workspace.h"
#include "planner/explain/remedy.h"

class QWidget;

namespace headroom::gui {

/// Descriptions of remedies, in the window's language.
class RemedyWords {
  Q_DECLARE_TR_FUNCTIONS(headroom::gui::RemedyWords)
 public:
  /// Name of a remedy. `option` is its command-line option: "--dtype bf16". Empty: only the limit gets
  /// smaller.
  static QString name(const std::string& option);
  /// How a plan's time compares with another's: "35 % faster", "4.9 % slower", "as fast".
  static QString speed(double seconds, double than_seconds);
};

/// The question with this remedy applied. Nothing if the user had to choose a folder and cancelled.
std::optional<PlanningQuestion> with_remedy(PlanningQuestion question, const planner::Remedy& remedy,
                                            QWidget* parent);

}  // namespace headroom::gui
