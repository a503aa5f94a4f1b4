#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include "reports/figures/table.h"

namespace headroom::gui {

/// A table of figures for Qt's views. Texts are those of the reports, titles translated.
class TableModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role {
    kSort = Qt::UserRole,  ///< the number or text itself
    kBar,                  ///< 0 to 1: how large beside the column's largest; invalid where no bar is drawn
    kStandsOut,            ///< of the row
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

/// Sorts by kSort, empty cells last either way; keeps rows of which some cell contains the text.
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
