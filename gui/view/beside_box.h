#pragma once

#include <QWidget>

#include "gui/model/workspace.h"

class QComboBox;

namespace headroom::gui {

/// Chooses a file to compare with the chosen one of its kind. Hidden if no other file is open.
class BesideBox : public QWidget {
  Q_OBJECT
 public:
  /// Offers plans, and also traces if `traces` is set.
  BesideBox(Workspace& workspace, bool traces, QWidget* parent = nullptr);

 private:
  void list();
  Workspace& workspace_;
  bool traces_;
  std::vector<reports::DocumentPtr> listed_;  ///< parallel to the entries; null: nothing
  QComboBox* box_;
};

}  // namespace headroom::gui
