#pragma once

#include <QByteArray>
#include <QStringList>
#include <QWidget>
#include <vector>

#include "gui/model/table_model.h"
#include "gui/view/page.h"

class QLabel;
class QLineEdit;
class QTableView;

namespace headroom::gui {

/// A table with a filter above it: sorts by its headings, draws bars, copies with Ctrl+C, saves as CSV.
class TableView : public QWidget {
  Q_OBJECT
 public:
  explicit TableView(QWidget* parent = nullptr);
  /// Keeps sorting, filter and, where the columns are the same, their widths.
  void setTable(const reports::Table& table);
  const reports::Table& table() const { return model_.table(); }
  TableModel& model() { return model_; }
  QTableView* view() { return view_; }
  QLineEdit* filter() { return filter_; }
  /// For a table of a few rows.
  void hideFilter();
  Export exporter(const QString& name);

  /// Widths and sorting, for the next start; they are used as soon as the table has the columns that they are
  /// of.
  QByteArray saveState() const;
  void restoreState(const QByteArray& state);

 public Q_SLOTS:
  /// The selected rows, or all where none is, with headings: tabs between cells, for spreadsheets.
  void copy() const;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 Q_SIGNALS:
  /// The row of the table (not of the sorted view) that is current; -1: none.
  void rowChosen(int row);

 private:
  QStringList headings() const;
  void fitColumns();
  void measureColumns(bool anew);
  void countRows();
  TableModel model_;
  SortFilter sorted_;
  QLineEdit* filter_;
  QLabel* count_;
  QTableView* view_;
  QStringList restored_headings_;
  QByteArray restored_header_;
  std::vector<int> natural_;  ///< what each column would like; grows while its numbers do
  std::vector<int> tight_;    ///< the same without room for the arrow of the sorting
  bool ours_ = true;          ///< no width is the user's
  bool fitting_ = false;
};

}  // namespace headroom::gui
