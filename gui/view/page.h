#pragma once

#include <QIcon>
#include <QWidget>
#include <functional>
#include <vector>

#include "reports/figures/table.h"

namespace headroom::gui {

/// Something on a page that can be saved: a drawing as PNG, a table as CSV.
struct Export {
  QString name;    ///< for file names and menus
  QString suffix;  ///< "png" or "csv"
  /// Throws DeviceError if the file cannot be written.
  std::function<void(const QString& file)> write;
};

/// One view of the workspace. Pages only connect widgets. Figures come from reports/figures, and workers
/// compute them.
class Page : public QWidget {
  Q_OBJECT
 public:
  explicit Page(QWidget* parent = nullptr) : QWidget(parent) {}
  /// Stable identifier for settings and screenshots: "timeline".
  virtual QString key() const = 0;
  /// Translated, for the tab.
  virtual QString title() const = 0;
  /// True while the page waits for a worker. Screenshots wait until it is false.
  virtual bool busy() const { return false; }
  virtual std::vector<Export> exports() { return {}; }

 Q_SIGNALS:
  void message(const QString& text);  ///< for the status bar
  void busyChanged();
  void pageAsked(const QString& key);  ///< asks the window to show another page
  void openAsked();                    ///< asks the window for its file dialog
};

/// Exports a widget as it looks on the screen.
Export painting_of(QWidget& widget, const QString& name);
Export csv_of(const reports::Table& table, const QString& name);

}  // namespace headroom::gui
