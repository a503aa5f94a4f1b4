#include "gui/model/table_model.h"

#include <QColor>
#include <QFont>
#include <algorithm>

#include "gui/model/figure_text.h"

namespace headroom::gui {
namespace {

/// Translucent, so that it works on light and dark backgrounds.
const QColor kStandsOutTint(230, 159, 0, 45);

QString text_of(const reports::Column& column, const reports::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return figure_text(*text);
  }
  if (const auto* number = std::get_if<double>(&cell);
      number != nullptr && column.unit != reports::Unit::none)
    return figure_text(column.unit, *number);
  return QString::fromStdString(reports::cell_text(column, cell));
}

/// Tooltip of a text cell: the whole text with full names of layers. If the text is translated, the full
/// names follow below it.
QVariant tooltip_of(const reports::Column& column, const reports::Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (!column.is_text || text == nullptr) return {};
  const QString full = QString::fromStdString(*text), shown = text_of(column, cell);
  const QStringList names = full_names(full);
  if (names.isEmpty() || shown == with_short_names(full)) return names.isEmpty() ? shown : full;
  return shown + QLatin1Char('\n') + names.join(QLatin1Char('\n'));
}

QVariant sort_key(const reports::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return QString::fromStdString(*text);
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return {};
}

QVariant bar_of(const reports::Column& column, const reports::Cell& cell, double largest) {
  const auto* number = std::get_if<double>(&cell);
  if (!column.bars || number == nullptr || largest <= 0) return {};
  return std::clamp(*number / largest, 0.0, 1.0);
}

}  // namespace

void TableModel::setTable(reports::Table table) {
  beginResetModel();
  table_ = std::move(table);
  largest_ = reports::largest_numbers(table_);
  endResetModel();
}

int TableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}

int TableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.columns.size());
}

QVariant TableModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount()) return {};
  const reports::Row& row = table_.rows[static_cast<size_t>(index.row())];
  const auto at = static_cast<size_t>(index.column());
  const reports::Column& column = table_.columns[at];
  if (at >= row.cells.size()) return {};
  const reports::Cell& cell = row.cells[at];
  switch (role) {
    case Qt::DisplayRole:
      return text_of(column, cell);
    case Qt::ToolTipRole:
      return plain_tooltip(tooltip_of(column, cell).toString());
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(column.is_text ? Qt::AlignLeft : Qt::AlignRight) |
                                 Qt::AlignVCenter);
    case Qt::FontRole: {
      if (!row.stands_out) return {};
      QFont font;
      font.setBold(true);
      return font;
    }
    case Qt::BackgroundRole:
      return row.stands_out ? QVariant(kStandsOutTint) : QVariant();
    case kSort:
      return sort_key(cell);
    case kBar:
      return bar_of(column, cell, largest_[at]);
    case kStandsOut:
      return row.stands_out;
    default:
      return {};
  }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const reports::Column& column = table_.columns[static_cast<size_t>(section)];
  switch (role) {
    case Qt::DisplayRole: {
      const QString title = figure_text(column.title);
      return column.group.empty() ? title : figure_text(column.group) + QLatin1Char('\n') + title;
    }
    case Qt::ToolTipRole:
      return plain_tooltip(figure_text(column.explanation));
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(Qt::Alignment(column.is_text ? Qt::AlignLeft : Qt::AlignRight) |
                                 Qt::AlignVCenter);
    default:
      return {};
  }
}

SortFilter::SortFilter(QObject* parent) : QSortFilterProxyModel(parent) {
  setSortRole(TableModel::kSort);
}

void SortFilter::setText(const QString& text) {
  text_ = text.trimmed();
  invalidateFilter();
}

bool SortFilter::lessThan(const QModelIndex& left, const QModelIndex& right) const {
  const QVariant a = left.data(TableModel::kSort), b = right.data(TableModel::kSort);
  // The proxy negates the comparison to sort downwards. So keeping empty cells last depends on the direction.
  if (!a.isValid() || !b.isValid()) {
    const bool upwards = sortOrder() == Qt::AscendingOrder;
    return a.isValid() == b.isValid() ? left.row() < right.row() : a.isValid() == upwards;
  }
  if (a.typeId() == QMetaType::Double && b.typeId() == QMetaType::Double) return a.toDouble() < b.toDouble();
  return QString::localeAwareCompare(a.toString(), b.toString()) < 0;
}

bool SortFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  if (text_.isEmpty()) return true;
  for (int column = 0; column < sourceModel()->columnCount(parent); ++column) {
    const QString cell = sourceModel()->index(row, column, parent).data(Qt::DisplayRole).toString();
    if (cell.contains(text_, Qt::CaseInsensitive)) return true;
  }
  return false;
}

}  // namespace headroom::gui
