#pragma once

#include <QTreeWidget>

#include "reports/figures/document.h"

namespace headroom::gui {

/// The passes of a plan with what each reads, runs and keeps below it, as `headroom-plan explain` has them.
class PassTree : public QTreeWidget {
  Q_OBJECT
 public:
  explicit PassTree(QWidget* parent = nullptr);
  /// Null clears it.
  void setPlan(const reports::DocumentPtr& plan);
  /// The current pass, of which a line may be current; -1 for none.
  int pass() const;
  void choosePass(int pass);
};

}  // namespace headroom::gui
