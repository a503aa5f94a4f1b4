#pragma once

#include <QWidget>
#include <vector>

#include "gui/model/table_model.h"
#include "gui/view/page.h"

class QLabel;
class QLineEdit;
class QTableView;

namespace headroom::gui {

/// A table with a filter. Sorts by its headings, draws bars, copies with Ctrl+C and saves as CSV.
class TableView : public QWidget {
  Q_OBJECT
 public:
  explicit TableView(QWidget* parent = nullptr);
  /// Keeps the filter. Also keeps sorting and scroll position if the columns are the same.
  void setTable(const reports::Table& table);
  const reports::Table& table() const { return model_.table(); }
  TableModel& model() { return model_; }
  QTableView* view() { return view_; }
  QLineEdit* filter() { return filter_; }
  /// For a table of a few rows.
  void hideFilter();
  /// Breaks long texts into lines instead of cutting them. For a table of a few rows.
  void wrapTexts();
  /// Chooses a row of the table (not of the sorted view) and scrolls to it.
  void chooseRow(int row);
  /// The row of the table that is current; -1: none.
  int chosenRow() const;
  Export exporter(const QString& name) { return csv_of(model_.table(), name); }

 public Q_SLOTS:
  /// Copies the selected rows with headings, or all rows if none is selected. Tabs separate the cells, for
  /// spreadsheets.
  void copy() const;

 Q_SIGNALS:
  /// The row of the table (not of the sorted view) that is current; -1: none.
  void rowChosen(int row);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fitColumns();
  void fitTexts();
  void countRows();
  TableModel model_;
  SortFilter sorted_;
  QLineEdit* filter_;
  QLabel* count_;
  QTableView* view_;
  std::vector<int> widths_;  ///< of the contents of each column, the largest so far
};

}  // namespace headroom::gui
