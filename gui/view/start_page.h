#pragma once

#include "gui/view/page.h"

class QLabel;
class QListWidget;
class QPushButton;

namespace headroom::gui {

class Workspace;

/// Files of `make demo` that can be opened. The folder demo/ may be in `folder` or in a folder above it.
/// Empty if there is no such folder.
QStringList demo_files(const QString& folder);

/// The first three steps for a new user.
class StartPage : public Page {
  Q_OBJECT
 public:
  explicit StartPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("start"); }
  QString title() const override { return tr("Start"); }
  void setRecentFiles(const QStringList& files);

 Q_SIGNALS:
  void openAsked();  ///< the file dialog
  void planAsked();  ///< the page that plans

 private:
  void openDemo();
  Workspace& workspace_;
  QLabel* demo_note_;
  QLabel* recent_title_;
  QListWidget* recent_;
};

}  // namespace headroom::gui
