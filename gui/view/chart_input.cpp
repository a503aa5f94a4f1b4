// Mouse and keyboard input of a chart.

#include <qcustomplot.h>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMetaMethod>
#include <algorithm>
#include <cmath>

#include "gui/view/chart_layers.h"
#include "gui/view/chart_series.h"
#include "gui/view/chart_view.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

/// Movement in pixels up to which a press and release are a click, not a drag.
constexpr int kClickReach = 4;

}  // namespace

void ChartView::connectMouse() {
  connect(plot_, &QCustomPlot::mousePress, this, [this](QMouseEvent* event) {
    pressed_at_ = event->pos();
    if (selectable_ && event->button() == Qt::LeftButton && event->modifiers().testFlag(Qt::ShiftModifier)) {
      selecting_ = true;
      plot_->setInteraction(QCP::iRangeDrag, false);  // before the plot begins to pan
      return;
    }
    if (event->button() != Qt::LeftButton || !cursor_->onHandle(event->pos())) return;
    dragging_ = true;
    plot_->setInteraction(QCP::iRangeDrag, false);  // before the plot begins to pan
  });
  connect(plot_, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
    const bool vertical = cursor_->handle && cursor_->handle->vertical;
    if (selecting_) return select(event->pos().x(), /*ends=*/false);
    if (dragging_) {
      moveHandleTo(vertical ? plot_->xAxis->pixelToCoord(event->pos().x())
                            : plot_->yAxis->pixelToCoord(event->pos().y()));
      return;
    }
    if (cursor_->onHandle(event->pos())) {
      plot_->setCursor(vertical ? Qt::SizeHorCursor : Qt::SizeVerCursor);
    } else {
      plot_->unsetCursor();
    }
    if (event->buttons() == Qt::NoButton && !pinned() && cursorIsOfUse() &&
        plot_->axisRect()->rect().contains(event->pos()))
      moveCursorTo(plot_->xAxis->pixelToCoord(event->pos().x()));
  });
  connect(plot_, &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    if (selecting_) return select(event->pos().x(), /*ends=*/true);
    if (dragging_) {
      dragging_ = false;
      plot_->setInteraction(QCP::iRangeDrag, true);
      Q_EMIT handleReleased(handle());
      return;
    }
    const bool click = (event->pos() - pressed_at_).manhattanLength() <= kClickReach;
    if (!pinnable_ || !click || !plot_->axisRect()->rect().contains(event->pos())) return;
    if (pinned()) {
      setPinned(false);
    } else {
      moveCursorTo(plot_->xAxis->pixelToCoord(event->pos().x()));
      setPinned(true);
    }
  });
  connect(plot_, &QCustomPlot::mouseDoubleClick, this, [this] { zoom(0); });
}

/// Selects from where the mouse was pressed. A click clears the selection.
void ChartView::select(int to_pixel, bool ends) {
  const double from = plot_->xAxis->pixelToCoord(pressed_at_.x()), to = plot_->xAxis->pixelToCoord(to_pixel);
  const auto [begin, end] = std::minmax(std::clamp(from, extent_.x.least, extent_.x.most),
                                        std::clamp(to, extent_.x.least, extent_.x.most));
  const bool click = std::abs(to_pixel - pressed_at_.x()) <= kClickReach;
  setSelection(click ? std::nullopt : std::optional(std::pair(begin, end)));
  if (!ends) return;
  selecting_ = false;
  plot_->setInteraction(QCP::iRangeDrag, true);
  Q_EMIT selectionChanged();
}

std::optional<std::pair<double, double>> ChartView::selection() const {
  return cursor_->selected;
}

void ChartView::setSelection(std::optional<std::pair<double, double>> range) {
  if (cursor_->selected == range) return;
  cursor_->selected = range;
  redrawCursor();
}

bool ChartView::cursorIsOfUse() const {
  static const QMetaMethod moved = QMetaMethod::fromSignal(&ChartView::cursorMoved);
  return isSignalConnected(moved);
}

void ChartView::moveCursorTo(double x) {
  setCursor(x);
  Q_EMIT cursorMoved(x);
}

void ChartView::setCursor(std::optional<double> x) {
  if (cursor_->x == x) return;
  cursor_->x = x;
  redrawCursor();
}

std::optional<double> ChartView::cursor() const {
  return cursor_->x;
}

bool ChartView::pinned() const {
  return cursor_->pinned;
}

void ChartView::setPinned(bool pinned) {
  if (cursor_->pinned == pinned) return;
  cursor_->pinned = pinned;
  redrawCursor();
  Q_EMIT pinnedChanged(pinned);
}

void ChartView::redrawCursor() {
  // Replots only the cursor's layer. The rest has been drawn before.
  if (plot_->isVisible()) {
    cursor_->layer()->replot();
  } else {
    plot_->replot(QCustomPlot::rpQueuedReplot);
  }
}

void ChartView::setHandle(double at, bool vertical, const QString& label) {
  if (dragging_ && cursor_->handle) at = cursor_->handle->at;  // the mouse moves the handle
  cursor_->handle = ChartCursor::Handle{at, vertical, label};
  redrawCursor();
}

void ChartView::clearHandle() {
  cursor_->handle.reset();
  redrawCursor();
}

double ChartView::handle() const {
  return cursor_->handle ? cursor_->handle->at : 0;
}

void ChartView::moveHandleTo(double at) {
  const QCPRange range = cursor_->handle->vertical ? plot_->xAxis->range() : plot_->yAxis->range();
  cursor_->handle->at = std::clamp(at, range.lower, range.upper);
  redrawCursor();
  Q_EMIT handleMoved(cursor_->handle->at);
}

void ChartView::zoom(double factor) {
  if (factor == 0) {
    plot_->xAxis->setRange(extent_.x.least, extent_.x.most);
    return;
  }
  const double middle = cursor_->x.value_or(plot_->xAxis->range().center());
  plot_->xAxis->scaleRange(factor, middle);
}

bool ChartView::moveCursorBy(int steps) {
  const auto longest = std::max_element(
      chart_.series.begin(), chart_.series.end(),
      [](const reports::Series& a, const reports::Series& b) { return a.x.size() < b.x.size(); });
  if (longest == chart_.series.end() || longest->x.empty()) return false;
  const std::vector<double>& places = longest->x;
  const double from = cursor_->x.value_or(steps > 0 ? places.front() : places.back());
  const auto next = steps > 0 ? std::upper_bound(places.begin(), places.end(), from)
                              : std::lower_bound(places.begin(), places.end(), from);
  const auto at = next - places.begin() + (steps > 0 ? steps - 1 : steps);
  double x = places[static_cast<size_t>(std::clamp<std::ptrdiff_t>(at, 0, std::ssize(places) - 1))];
  if (source_ && (at < 0 || at >= std::ssize(places))) {
    // The chart has data for the visible range only. Pan to go beyond it.
    plot_->xAxis->moveRange(steps * columnWidth());
    x = std::clamp(from + steps * columnWidth(), visibleRange().first, visibleRange().second);
  }
  moveCursorTo(x);
  return true;
}

void ChartView::keyPressEvent(QKeyEvent* event) {
  const int direction = event->key() == Qt::Key_Left || event->key() == Qt::Key_Down  ? -1
                        : event->key() == Qt::Key_Right || event->key() == Qt::Key_Up ? 1
                                                                                      : 0;
  const bool shift = event->modifiers().testFlag(Qt::ShiftModifier);
  const auto [begin, end] = visibleRange();
  if (direction != 0 && cursor_->handle && event->modifiers().testFlag(Qt::ControlModifier)) {
    const QCPRange range = cursor_->handle->vertical ? plot_->xAxis->range() : plot_->yAxis->range();
    moveHandleTo(handle() + direction * range.size() * (shift ? 0.05 : 0.005));
    Q_EMIT handleReleased(handle());
    return;
  }
  if (direction != 0 && (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right) &&
      moveCursorBy(direction * (shift ? 10 : 1)))
    return;
  switch (event->key()) {
    case Qt::Key_Home:
      moveCursorTo(begin);
      return;
    case Qt::Key_End:
      moveCursorTo(end);
      return;
    case Qt::Key_PageUp:
      plot_->xAxis->moveRange(-0.8 * (end - begin));
      return;
    case Qt::Key_PageDown:
      plot_->xAxis->moveRange(0.8 * (end - begin));
      return;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom(0.7);
      return;
    case Qt::Key_Minus:
      zoom(1 / 0.7);
      return;
    case Qt::Key_0:
      zoom(0);
      return;
    case Qt::Key_Escape:
      if (selection()) {
        setSelection({});
        Q_EMIT selectionChanged();
        return;
      }
      break;
    case Qt::Key_Space:
      if (pinnable_) {
        setPinned(!pinned());
        return;
      }
      break;
    default:
      break;
  }
  QWidget::keyPressEvent(event);
}

bool ChartView::eventFilter(QObject* watched, QEvent* event) {
  if (watched == plot_ && event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const bool inside = plot_->axisRect()->rect().contains(help->pos());
    show_tooltip(help->globalPos(), inside ? textAt(plot_->xAxis->pixelToCoord(help->pos().x())) : QString(),
                 plot_);
    return true;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace headroom::gui
