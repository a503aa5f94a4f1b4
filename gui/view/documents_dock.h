#pragma once

#include <QDockWidget>

#include "gui/model/workspace.h"

class QPushButton;
class QTreeWidget;
class QTreeWidgetItem;

namespace headroom::gui {

/// The open files by kind, the chosen ones highlighted. A click or Enter chooses a file. Delete closes it.
class DocumentsDock : public QDockWidget {
  Q_OBJECT
 public:
  explicit DocumentsDock(Workspace& workspace, QWidget* parent = nullptr);

 public Q_SLOTS:
  void closeCurrent();

 Q_SIGNALS:
  void message(const QString& text);

 private:
  void list();
  void chooseItem(const QTreeWidgetItem* item);
  reports::DocumentPtr documentOf(const QTreeWidgetItem* item) const;
  Workspace& workspace_;
  QTreeWidget* tree_;
  QPushButton* close_;
};

}  // namespace headroom::gui
