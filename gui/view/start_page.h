#pragma once

#include "gui/view/page.h"

class QLabel;
class QListWidget;
class QPushButton;

namespace headroom::gui {

class Workspace;

/// Files of an example that can be opened: of `make demo` in a folder demo/, or else of docs/tour/. The
/// folder may be in `folder` or in a folder above it. Empty if there is none.
QStringList demo_files(const QString& folder);

/// The first page: ways to begin for a new user. Running out of memory comes first.
class StartPage : public Page {
  Q_OBJECT
 public:
  explicit StartPage(Workspace& workspace, QWidget* parent = nullptr);
  QString key() const override { return QStringLiteral("start"); }
  QString title() const override { return tr("Start"); }
  void setRecentFiles(const QStringList& files);

 Q_SIGNALS:
  void planAsked();  ///< the page that plans

 private:
  void openDemo();
  Workspace& workspace_;
  QLabel* demo_note_;
  QLabel* recent_title_;
  QListWidget* recent_;
};

}  // namespace headroom::gui
