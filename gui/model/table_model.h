#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include "reports/figures/table.h"

namespace headroom::gui {

/// A table of the reports for Qt's views. Titles are translated.
class TableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role {
    kSort = Qt::UserRole,  ///< the number or text itself
    kBar,                  ///< number as a share of the column's largest, 0 to 1; invalid: no bar
    kStandsOut,            ///< true if the row stands out
  };
  explicit TableModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void setTable(reports::Table table);
  const reports::Table& table() const { return table_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  reports::Table table_;
  std::vector<double> largest_;
};

/// Sorts by kSort, with empty cells last in both directions. Keeps the rows in which some cell contains the
/// filter text.
class SortFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  explicit SortFilter(QObject* parent = nullptr);
  void setText(const QString& text);

 protected:
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  QString text_;
};

}  // namespace headroom::gui
