#include "gui/view/table_view.h"

#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QScrollBar>
#include <QShortcut>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

constexpr int kWidestColumn = 340, kNarrowest = 48, kRowsMeasured = 300, kWidestFilter = 320;
constexpr int kMostStretched = 12;  ///< most columns of a table whose text columns share the free width

/// Draws a bar behind a number. Its length is relative to the column's largest number.
class BarDelegate final : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const QVariant share = index.data(TableModel::kBar);
    if (share.isValid()) {
      if (const QVariant tint = index.data(Qt::BackgroundRole); tint.isValid())
        painter->fillRect(option.rect, tint.value<QColor>());
      QColor colour = option.palette.color(QPalette::Highlight);
      colour.setAlpha(70);
      const QRect cell = option.rect.adjusted(1, 2, -1, -2);
      const int length = static_cast<int>(share.toDouble() * cell.width());
      painter->fillRect(QRect(cell.right() + 1 - length, cell.top(), length, cell.height()), colour);
    }
    QStyleOptionViewItem drawn = option;
    initStyleOption(&drawn, index);
    if (drawn.textElideMode == Qt::ElideLeft) shorten(drawn);
    const QStyle* style = drawn.widget != nullptr ? drawn.widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &drawn, painter, drawn.widget);
  }

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    // Cut layer names at the beginning, because their ends tell more. Cut other texts at the end.
    const bool name = option->text.contains(QLatin1Char('.')) && !option->text.contains(QLatin1Char(' '));
    option->textElideMode = name ? Qt::ElideLeft : Qt::ElideRight;
    // The tint was painted before, below the bar.
    if (index.data(TableModel::kBar).isValid()) option->backgroundBrush = Qt::NoBrush;
  }

 private:
  /// Shortens a name to the whole parts that fit. The tooltip has the full name.
  static void shorten(QStyleOptionViewItem& drawn) {
    const QStyle* style = drawn.widget != nullptr ? drawn.widget->style() : QApplication::style();
    const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, &drawn, drawn.widget) + 1;
    drawn.text = shortened_name(drawn.text, QFontMetricsF(drawn.font), drawn.rect.width() - 2 * margin);
  }
};

/// Headings that reserve one line's height as width for the sort arrow. Qt reserves the height of all lines.
class Headings final : public QHeaderView {
 public:
  explicit Headings(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {
    setSectionsClickable(true);
    setSortIndicator(-1, Qt::AscendingOrder);  // unsorted until the user clicks a heading
    setSortIndicatorClearable(true);
    setTextElideMode(Qt::ElideNone);
    setMinimumSectionSize(kNarrowest);
    // Measure only the first rows. Measuring a million would take seconds.
    setResizeContentsPrecision(kRowsMeasured);
  }

 protected:
  QSize sectionSizeFromContents(int section) const override {
    const QSize size = QHeaderView::sectionSizeFromContents(section);
    if (model() == nullptr) return size;
    const auto lines = model()->headerData(section, Qt::Horizontal).toString().count(QLatin1Char('\n'));
    return {size.width() - static_cast<int>(lines) * fontMetrics().height(), size.height()};
  }
};

/// Replaces tabs and line ends, which would split the field.
QString as_field(QString text) {
  return text.replace(QLatin1Char('\t'), QLatin1Char(' ')).replace(QLatin1Char('\n'), QLatin1Char(' '));
}

}  // namespace

TableView::TableView(QWidget* parent)
    : QWidget(parent),
      filter_(new QLineEdit(this)),
      count_(new PlainLabel(this)),
      view_(new QTableView(this)) {
  sorted_.setSourceModel(&model_);
  filter_->setPlaceholderText(tr("Filter (Ctrl+F)"));
  filter_->setAccessibleName(tr("Filter"));
  filter_->setClearButtonEnabled(true);
  filter_->setMaximumWidth(kWidestFilter);
  view_->setModel(&sorted_);
  view_->setItemDelegate(new BarDelegate(view_));
  view_->setSelectionBehavior(QAbstractItemView::SelectRows);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  view_->setAlternatingRowColors(false);
  view_->setShowGrid(false);
  view_->setWordWrap(false);
  view_->setTabKeyNavigation(false);  // Tab moves to the next widget; arrows move within the table
  view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(view_->fontMetrics().height() + 6);
  view_->setHorizontalHeader(new Headings(view_));
  view_->setSortingEnabled(true);
  view_->viewport()->installEventFilter(this);

  auto* top = new QHBoxLayout;
  top->addWidget(filter_, 1);
  top->addWidget(count_);
  top->addStretch();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  layout->addLayout(top);
  layout->addWidget(view_, 1);
  setFocusProxy(view_);

  connect(filter_, &QLineEdit::textChanged, this, [this](const QString& text) {
    sorted_.setText(text);
    countRows();
  });
  connect(filter_, &QLineEdit::returnPressed, view_, qOverload<>(&QWidget::setFocus));
  connect(view_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& current) {
            Q_EMIT rowChosen(current.isValid() ? sorted_.mapToSource(current).row() : -1);
          });
  const auto shortcut = [this](const QKeySequence& keys, auto slot) {
    auto* made = new QShortcut(keys, this);
    made->setContext(Qt::WidgetWithChildrenShortcut);
    connect(made, &QShortcut::activated, this, slot);
  };
  shortcut(QKeySequence::Copy, [this] { copy(); });
  shortcut(QKeySequence::Find, [this] {
    filter_->setFocus(Qt::ShortcutFocusReason);
    filter_->selectAll();
  });
}

void TableView::setTable(const reports::Table& table) {
  const auto heading = [](const reports::Column& column) { return std::pair(column.group, column.title); };
  const std::vector<reports::Column> before = model_.table().columns;
  const bool same = std::equal(
      before.begin(), before.end(), table.columns.begin(), table.columns.end(),
      [&](const reports::Column& a, const reports::Column& b) { return heading(a) == heading(b); });
  const int row = view_->verticalScrollBar()->value();
  model_.setTable(table);
  if (same) {
    view_->verticalScrollBar()->setValue(row);
  } else {
    view_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    fitColumns();
  }
  fitTexts();
  countRows();
}

void TableView::hideFilter() {
  filter_->hide();
  count_->hide();
}

void TableView::wrapTexts() {
  view_->setWordWrap(true);
  view_->verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
}

void TableView::chooseRow(int row) {
  const QModelIndex shown = sorted_.mapFromSource(model_.index(row, 0));
  if (!shown.isValid() || shown.row() == view_->currentIndex().row()) return;
  view_->setCurrentIndex(shown);
  view_->scrollTo(shown, QAbstractItemView::PositionAtCenter);
}

int TableView::chosenRow() const {
  const QModelIndex current = view_->currentIndex();
  return current.isValid() ? sorted_.mapToSource(current).row() : -1;
}

/// Gives numbers their full width. A wide table scrolls.
void TableView::fitColumns() {
  QHeaderView* header = view_->horizontalHeader();
  const std::vector<reports::Column>& columns = model_.table().columns;
  const bool stretches = columns.size() <= kMostStretched;
  header->setMaximumSectionSize(stretches ? QWIDGETSIZE_MAX : kWidestColumn);
  for (int column = 0; column < header->count(); ++column) {
    const bool text = columns[static_cast<size_t>(column)].is_text;
    header->setSectionResizeMode(column, !stretches ? QHeaderView::Interactive
                                         : text     ? QHeaderView::Stretch
                                                    : QHeaderView::ResizeToContents);
  }
  if (!stretches) view_->resizeColumnsToContents();
  widths_.assign(columns.size(), 0);
}

/// Gives texts the width of their contents, and leaves the rest of the table empty. If there is too little
/// room, the long ones share it. Columns only grow, because rows may change with every move of the mouse.
void TableView::fitTexts() {
  constexpr int kSpace = 12;
  QHeaderView* header = view_->horizontalHeader();
  const std::vector<reports::Column>& columns = model_.table().columns;
  if (columns.size() > kMostStretched || columns.size() != widths_.size()) return;
  int room = view_->viewport()->width(), texts = 0;
  const QAbstractItemView& hints = *view_;  // public there
  for (size_t i = 0; i < columns.size(); ++i) {
    const int column = static_cast<int>(i);
    widths_[i] = std::max({widths_[i], hints.sizeHintForColumn(column), header->sectionSizeHint(column)});
    if (!columns[i].is_text) room -= widths_[i];
    if (columns[i].is_text) ++texts;
  }
  // Texts that take less than an equal share leave more to the others.
  std::vector<bool> whole(columns.size());
  for (bool more = true; more && texts > 0;) {
    more = false;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (!columns[i].is_text || whole[i] || (widths_[i] + kSpace) * texts > room) continue;
      whole[i] = more = true;
      room -= widths_[i] + kSpace;
      if (--texts == 0) break;
    }
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    const int column = static_cast<int>(i);
    if (!columns[i].is_text) continue;
    header->setSectionResizeMode(column, whole[i] ? QHeaderView::Interactive : QHeaderView::Stretch);
    if (whole[i]) header->resizeSection(column, widths_[i] + kSpace);
  }
}

bool TableView::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) fitTexts();
  return QWidget::eventFilter(watched, event);
}

void TableView::countRows() {
  const int all = model_.rowCount(), shown = sorted_.rowCount();
  count_->setText(shown == all ? QString() : tr("%1 of %2").arg(shown).arg(all));
}

void TableView::copy() const {
  QModelIndexList rows = view_->selectionModel()->selectedRows();
  if (rows.isEmpty()) {
    for (int row = 0; row < sorted_.rowCount(); ++row) rows << sorted_.index(row, 0);
  }
  std::sort(rows.begin(), rows.end());
  QStringList lines, fields;
  for (int column = 0; column < sorted_.columnCount(); ++column)
    fields << as_field(sorted_.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
  lines << fields.join(QLatin1Char('\t'));
  for (const QModelIndex& row : rows) {
    fields.clear();
    for (int column = 0; column < sorted_.columnCount(); ++column)
      fields << as_field(row.siblingAtColumn(column).data().toString());
    lines << fields.join(QLatin1Char('\t'));
  }
  QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

}  // namespace headroom::gui
