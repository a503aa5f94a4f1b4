#include "gui/view/table_view.h"

#include <QApplication>
#include <QClipboard>
#include <QDataStream>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QIODevice>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QScrollBar>
#include <QShortcut>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>
#include <numeric>

#include "decoder/outputs/whole_file.h"
#include "gui/view/fitting_name.h"
#include "gui/view/plain_label.h"

namespace headroom::gui {
namespace {

constexpr int kWidestColumn = 340, kNarrowest = 48, kNarrowestText = 90, kRowsMeasured = 300,
              kWidestFilter = 320;

/// A bar behind the number, as long as the number is beside the column's largest.
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
    // The end of a layer's name tells more than its beginning; of all else it is the other way round.
    const bool name = option->text.contains(QLatin1Char('.')) && !option->text.contains(QLatin1Char(' '));
    option->textElideMode = name ? Qt::ElideLeft : Qt::ElideRight;
    // The tint has been painted, below the bar.
    if (index.data(TableModel::kBar).isValid()) option->backgroundBrush = Qt::NoBrush;
  }

 private:
  /// A name that does not fit to as many whole parts of it as do; the tooltip has all of it.
  static void shorten(QStyleOptionViewItem& drawn) {
    const QStyle* style = drawn.widget != nullptr ? drawn.widget->style() : QApplication::style();
    const int margin = style->pixelMetric(QStyle::PM_FocusFrameHMargin, &drawn, drawn.widget) + 1;
    drawn.text = shortened_name(drawn.text, QFontMetricsF(drawn.font), drawn.rect.width() - 2 * margin);
  }
};

/// Of the longest line of a column's heading. Qt itself leaves as much for the arrow of the sorting beside it
/// as all lines are high.
int heading_width(const QHeaderView& header, int column) {
  const QString text = header.model()->headerData(column, Qt::Horizontal).toString();
  int widest = 0;
  for (const QString& line : text.split(QLatin1Char('\n')))
    widest = std::max(widest, header.fontMetrics().horizontalAdvance(line));
  return widest + 2 * header.style()->pixelMetric(QStyle::PM_HeaderMargin);
}

int contents_width(const QAbstractItemView& view, int column) {
  return view.sizeHintForColumn(column);
}

/// What tabs and line ends would tear apart.
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
  view_->setTabKeyNavigation(false);  // Tab goes on to the next widget, arrows move within
  view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
  view_->viewport()->installEventFilter(this);
  view_->verticalHeader()->hide();
  view_->verticalHeader()->setDefaultSectionSize(view_->fontMetrics().height() + 6);
  QHeaderView* header = view_->horizontalHeader();
  header->setSortIndicator(-1, Qt::AscendingOrder);  // as the figures come, until a heading is clicked
  header->setSortIndicatorClearable(true);
  header->setHighlightSections(false);
  header->setTextElideMode(Qt::ElideNone);
  view_->setSortingEnabled(true);

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
  connect(header, &QHeaderView::sectionResized, this, [this] { ours_ = ours_ && fitting_; });
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
  const QStringList before = headings();
  const int row = view_->verticalScrollBar()->value();
  model_.setTable(table);
  const QStringList now = headings();
  if (now == before) {
    view_->verticalScrollBar()->setValue(row);
    measureColumns(/*anew=*/false);
  } else {
    view_->horizontalHeader()->setSortIndicator(-1, Qt::AscendingOrder);
    ours_ = now != restored_headings_ || !view_->horizontalHeader()->restoreState(restored_header_);
    measureColumns(/*anew=*/true);
  }
  fitColumns();
  countRows();
}

void TableView::hideFilter() {
  filter_->hide();
  count_->hide();
}

QStringList TableView::headings() const {
  QStringList headings;
  for (const reports::Column& column : model_.table().columns)
    headings << QString::fromStdString(column.group + "/" + column.title);
  return headings;
}

void TableView::measureColumns(bool anew) {
  QHeaderView* header = view_->horizontalHeader();
  if (anew) {
    natural_.assign(static_cast<size_t>(header->count()), 0);
    tight_ = natural_;
  }
  // The first rows tell enough, and a million would take seconds.
  header->setResizeContentsPrecision(kRowsMeasured);
  for (int column = 0; column < header->count(); ++column) {
    int &width = natural_[static_cast<size_t>(column)], &tight = tight_[static_cast<size_t>(column)];
    const int heading = heading_width(*header, column), contents = contents_width(*view_, column),
              arrow = header->fontMetrics().height();
    width = std::max(width, std::clamp(std::max(heading + arrow, contents) + 8, kNarrowest, kWidestColumn));
    tight = std::max(tight, std::min(width, std::max(heading, contents) + 2));
  }
}

void TableView::fitColumns() {
  QHeaderView* header = view_->horizontalHeader();
  if (!ours_ || std::ssize(natural_) != header->count()) return;
  std::vector<int> widths = natural_;
  int too_much = std::accumulate(widths.begin(), widths.end(), 0) - view_->viewport()->width();
  const auto can_give = [&](size_t column) {
    const bool is_text = model_.table().columns[column].is_text;
    return std::max(0, widths[column] - (is_text ? kNarrowestText : tight_[column]));
  };
  int room = 0;
  for (size_t column = 0; column < widths.size(); ++column) room += can_give(column);
  // Rather shortened words, and no room for an arrow, than numbers out of sight, where that helps; names,
  // which come first, last.
  for (size_t column = widths.size(); column-- > 0 && too_much > 0 && too_much <= room;) {
    const int given = std::min(can_give(column), too_much);
    widths[column] -= given;
    too_much -= given;
    room -= can_give(column);
  }
  // What is left over goes to the first names that are cut.
  for (size_t column = 0; column < widths.size() && too_much < 0; ++column) {
    if (!model_.table().columns[column].is_text || natural_[column] < kWidestColumn) continue;
    widths[column] -= too_much;
    too_much = 0;
  }
  fitting_ = true;
  for (int column = 0; column < header->count(); ++column)
    header->resizeSection(column, widths[static_cast<size_t>(column)]);
  fitting_ = false;
}

bool TableView::eventFilter(QObject* watched, QEvent* event) {
  // Not its own size: a scroll bar that comes takes its room from the columns.
  if (watched == view_->viewport() && event->type() == QEvent::Resize) fitColumns();
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

Export TableView::exporter(const QString& name) {
  return {name, {QStringLiteral("csv")}, [this](const QString& file) {
            write_file_whole(file.toStdString(), reports::to_csv(model_.table()));
          }};
}

QByteArray TableView::saveState() const {
  QByteArray state;
  QDataStream stream(&state, QIODevice::WriteOnly);
  stream << headings() << view_->horizontalHeader()->saveState();
  return state;
}

void TableView::restoreState(const QByteArray& state) {
  QDataStream stream(state);
  stream >> restored_headings_ >> restored_header_;
  if (restored_headings_.isEmpty() || headings() != restored_headings_) return;
  if (!view_->horizontalHeader()->restoreState(restored_header_)) return;
  ours_ = false;
}

}  // namespace headroom::gui
