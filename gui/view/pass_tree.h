#pragma once

#include <QTreeWidget>

#include "reports/figures/document.h"

namespace headroom::gui {

/// The passes of a plan: tensors read, operations and kept tensors, as in `headroom-plan explain`.
class PassTree : public QTreeWidget {
  Q_OBJECT
 public:
  explicit PassTree(QWidget* parent = nullptr);
  /// Null clears it.
  void setPlan(const reports::DocumentPtr& plan);
  /// The current pass, even if one of its lines is selected; -1 for none.
  int pass() const;
  void choosePass(int pass);
};

}  // namespace headroom::gui
