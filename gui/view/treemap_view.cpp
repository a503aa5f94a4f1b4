#include "gui/view/treemap_view.h"

#include <QHelpEvent>
#include <QPainter>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/fitting_name.h"
#include "gui/view/show_tooltip.h"

namespace headroom::gui {
namespace {

constexpr double kOutline = 2;

QRectF rect_of(const reports::TreemapTile& tile) {
  return {tile.x, tile.y, tile.width, tile.height};
}

}  // namespace

TreemapView::TreemapView(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("On the device, as areas by module"));
}

void TreemapView::setEntries(std::vector<reports::LiveEntry> entries) {
  if (entries == entries_) return;
  entries_ = std::move(entries);
  layOut();
}

void TreemapView::layOut() {
  tiles_ = reports::treemap(entries_, width(), height());
  update();
}

QSize TreemapView::sizeHint() const {
  return {fontMetrics().height() * 16, fontMetrics().height() * 10};
}

QSize TreemapView::minimumSizeHint() const {
  return {fontMetrics().height() * 6, fontMetrics().height() * 4};
}

void TreemapView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  for (const reports::TreemapTile& tile : tiles_) {
    if (!tile.module) drawTile(painter, tile);
  }
  // Modules as frames around what they have, the outer ones stronger.
  painter.setBrush(Qt::NoBrush);
  for (const reports::TreemapTile& tile : tiles_) {
    if (!tile.module) continue;
    painter.setPen(QPen(palette().color(QPalette::Text), tile.depth == 0 ? kOutline : 1));
    painter.drawRect(rect_of(tile));
  }
}

void TreemapView::drawTile(QPainter& painter, const reports::TreemapTile& tile) const {
  const QRectF area = rect_of(tile);
  painter.fillRect(area, colour_of(reports::colour_role_of(tile.kind), palette()));
  painter.setPen(palette().color(QPalette::Base));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(area);
  const int line = fontMetrics().height();
  const QRectF inside = area.adjusted(line * 0.25, line * 0.1, -line * 0.25, -line * 0.1);
  if (inside.height() < line) return;
  const QColor colour = colour_of(reports::colour_role_of(tile.kind), palette());
  painter.setPen(ink_on(colour));
  const QString bytes = figure_text(reports::Unit::bytes, double(tile.bytes));
  const QString name = fitting_name(figure_text(tile.path), QFontMetricsF(font()), inside.width());
  painter.drawText(inside, Qt::AlignTop | Qt::AlignLeft, name);
  if (inside.height() >= 2 * line && fontMetrics().horizontalAdvance(bytes) <= inside.width())
    painter.drawText(inside.adjusted(0, line, 0, 0), Qt::AlignTop | Qt::AlignLeft, bytes);
}

void TreemapView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  layOut();
}

QString TreemapView::textAt(const QPointF& point) const {
  QStringList lines;
  for (const reports::TreemapTile& tile : tiles_) {
    if (!rect_of(tile).contains(point)) continue;
    const QString bytes = figure_text(reports::Unit::bytes, double(tile.bytes));
    if (tile.module) {
      lines << tr("%1: %2").arg(figure_text(tile.path), bytes);
    } else {
      lines
          << tr("%1: %2, %3").arg(QString::fromStdString(tile.name), bytes, figure_text(title_of(tile.kind)));
    }
  }
  return lines.join(QLatin1Char('\n'));
}

bool TreemapView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  show_tooltip(help->globalPos(), textAt(help->pos()), this);
  return true;
}

}  // namespace headroom::gui
