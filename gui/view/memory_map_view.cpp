#include "gui/view/memory_map_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/fitting_name.h"
#include "gui/view/show_tooltip.h"
#include "reports/figures/ticks.h"

namespace headroom::gui {
namespace {

constexpr double kZoomStep = 1.25, kClosest = 1e-5, kOutlined = 4;
constexpr int kDragged = 4;

}  // namespace

MemoryMapView::MemoryMapView(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Memory by time and offset"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void MemoryMapView::setMap(std::shared_ptr<const reports::MemoryMap> map) {
  map_ = std::move(map);
  begin_ = moment_ = 0;
  end_ = map_ == nullptr ? 1 : std::max(map_->end_seconds, 1e-9);
  update();
}

QSize MemoryMapView::sizeHint() const {
  return {fontMetrics().height() * 40, fontMetrics().height() * 24};
}

QSize MemoryMapView::minimumSizeHint() const {
  return {fontMetrics().height() * 16, fontMetrics().height() * 8};
}

void MemoryMapView::setMoment(double seconds) {
  if (map_ == nullptr) return;
  moment_ = std::clamp(seconds, 0.0, map_->end_seconds);
  update();
  Q_EMIT momentChanged(moment_);
}

void MemoryMapView::setRange(double begin, double end) {
  if (map_ == nullptr) return;
  const double all = map_->end_seconds;
  const double length = std::clamp(end - begin, all * kClosest, all);
  begin_ = std::clamp(begin, 0.0, all - length);
  end_ = begin_ + length;
  update();
}

QRectF MemoryMapView::area() const {
  const double line = fontMetrics().height();
  const double left = fontMetrics().horizontalAdvance(QStringLiteral("1023.9 MiB")) + line * 0.6;
  return QRectF(rect()).adjusted(left, line * 1.3, -line * 0.8, -line * 1.6);
}

int64_t MemoryMapView::most() const {
  return std::max(map_->reserved_bytes, reports::is_limit(map_->limit_bytes) ? map_->limit_bytes : 0);
}

double MemoryMapView::secondsAt(double x) const {
  const QRectF plot = area();
  return begin_ + (x - plot.left()) / plot.width() * (end_ - begin_);
}

double MemoryMapView::across(double seconds) const {
  const QRectF plot = area();
  return plot.left() + (seconds - begin_) / (end_ - begin_) * plot.width();
}

double MemoryMapView::up(int64_t offset) const {
  const QRectF plot = area();
  return plot.bottom() - double(offset) / double(std::max<int64_t>(most(), 1)) * plot.height();
}

QRectF MemoryMapView::rectOf(const reports::MapPlace& place) const {
  return {QPointF(across(place.begin_seconds), up(place.offset + place.bytes)),
          QPointF(across(place.end_seconds), up(place.offset))};
}

const reports::MapPlace* MemoryMapView::placeAt(const QPointF& point) const {
  if (map_ == nullptr || !area().contains(point)) return nullptr;
  const double seconds = secondsAt(point.x());
  for (const reports::MapPlace& place : map_->places) {
    if (place.begin_seconds > seconds) break;
    if (seconds < place.end_seconds && point.y() >= up(place.offset + place.bytes) &&
        point.y() < up(place.offset))
      return &place;
  }
  return nullptr;
}

QString MemoryMapView::textOf(const reports::MapPlace& place) const {
  const auto bytes = [](int64_t count) { return figure_text(reports::Unit::bytes, double(count)); };
  const auto time = [](double seconds) { return figure_text(reports::Unit::seconds, seconds); };
  QString text = tr("%1\n%2: %3, from %4 on")
                     .arg(QString::fromStdString(place.name), figure_text(title_of(place.kind)),
                          bytes(place.bytes), bytes(place.offset));
  text += QLatin1Char('\n') + tr("from %1 to %2").arg(time(place.begin_seconds), time(place.end_seconds));
  if (place.pass >= 0 && place.pass < std::ssize(map_->passes)) {
    text += QLatin1Char('\n') + tr("asked for in pass %1, %2")
                                    .arg(place.pass)
                                    .arg(figure_text(map_->passes[static_cast<size_t>(place.pass)].name));
  }
  return text;
}

void MemoryMapView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (map_ == nullptr) return;
  drawPlaces(painter);
  drawAxes(painter);
  if (!hasFocus()) return;
  painter.setPen(palette().color(QPalette::Highlight));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void MemoryMapView::drawPlaces(QPainter& painter) const {
  const QRectF plot = area();
  painter.setClipRect(plot);
  // What is reserved and free shows through, as a ground that does not draw the eye.
  QColor slack = colour_of(reports::ColourRole::slack, palette());
  slack.setAlphaF(0.35F);
  painter.fillRect(QRectF(QPointF(plot.left(), up(map_->reserved_bytes)), plot.bottomRight()), slack);
  std::array<QColor, kMemoryKinds> colours;
  for (size_t kind = 0; kind < kMemoryKinds; ++kind)
    colours[kind] = colour_of(reports::colour_role_of(static_cast<MemoryKind>(kind)), palette());
  QColor outline = palette().color(QPalette::Base);
  outline.setAlphaF(0.8F);
  for (const reports::MapPlace& place : map_->places) {
    if (place.end_seconds <= begin_ || place.begin_seconds >= end_) continue;
    const QRectF rectangle = rectOf(place);
    painter.fillRect(rectangle, colours[static_cast<size_t>(place.kind)]);
    if (rectangle.width() < kOutlined || rectangle.height() < kOutlined) continue;
    painter.setPen(outline);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rectangle);
    const QRectF seen = rectangle.intersected(plot).adjusted(4, 1, -4, -1);
    if (seen.height() < fontMetrics().height()) continue;
    const QString name = fitting_name(figure_text(place.name), QFontMetricsF(font()), seen.width());
    painter.setPen(ink_on(colours[static_cast<size_t>(place.kind)]));
    painter.drawText(seen, Qt::AlignCenter, name);
  }
  painter.setPen(QPen(palette().color(QPalette::Text), 1));
  painter.drawLine(QPointF(across(moment_), plot.top()), QPointF(across(moment_), plot.bottom()));
  painter.setClipping(false);
}

void MemoryMapView::drawAxes(QPainter& painter) const {
  const QRectF plot = area();
  const double line = fontMetrics().height();
  painter.setPen(palette().color(QPalette::Text));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(plot);
  for (const reports::Tick& tick : reports::ticks(reports::Unit::bytes, {0, double(most())}, false, 6)) {
    const double y = up(static_cast<int64_t>(tick.at));
    painter.drawText(QRectF(0, y - line / 2, plot.left() - line * 0.3, line),
                     Qt::AlignRight | Qt::AlignVCenter, QString::fromStdString(tick.label));
    painter.drawLine(QPointF(plot.left() - 3, y), QPointF(plot.left(), y));
  }
  for (const reports::Tick& tick : reports::ticks(reports::Unit::seconds, {begin_, end_}, false, 8)) {
    const double x = across(tick.at);
    painter.drawText(QRectF(x - line * 4, plot.bottom() + 3, line * 8, line), Qt::AlignCenter,
                     QString::fromStdString(tick.label));
    painter.drawLine(QPointF(x, plot.bottom()), QPointF(x, plot.bottom() + 3));
  }
  QColor faint = palette().color(QPalette::Text);
  for (const reports::Span& pass : map_->passes) {
    const double left = std::max(across(pass.begin), plot.left()),
                 right = std::min(across(pass.end), plot.right());
    if (right <= left) continue;
    faint.setAlphaF(0.25F);
    painter.setPen(QPen(faint, 1, Qt::DotLine));
    painter.drawLine(QPointF(left, plot.top()), QPointF(left, plot.bottom()));
    const QString name = fitting_name(figure_text(pass.name), QFontMetricsF(font()), right - left - 4);
    faint.setAlphaF(0.7F);
    painter.setPen(faint);
    painter.drawText(QRectF(left, plot.top() - line * 1.2, right - left, line), Qt::AlignCenter, name);
  }
  const auto level = [&](int64_t bytes, reports::ColourRole role) {
    painter.setPen(QPen(colour_of(role, palette()), 1.5, Qt::DashLine));
    painter.drawLine(QPointF(plot.left(), up(bytes)), QPointF(plot.right(), up(bytes)));
  };
  level(map_->reserved_bytes, reports::ColourRole::driver);
  if (reports::is_limit(map_->limit_bytes)) level(map_->limit_bytes, reports::ColourRole::limit);
}

void MemoryMapView::mousePressEvent(QMouseEvent* event) {
  pressed_ = event->position();
  pressed_range_ = range();
  dragged_ = false;
}

void MemoryMapView::mouseMoveEvent(QMouseEvent* event) {
  if (!pressed_ || map_ == nullptr) return;
  const double moved = event->position().x() - pressed_->x();
  dragged_ = dragged_ || std::abs(moved) > kDragged;
  if (!dragged_) return;
  const auto [begin, end] = pressed_range_;
  const double by = moved / area().width() * (end - begin);
  setRange(begin - by, end - by);
}

void MemoryMapView::mouseReleaseEvent(QMouseEvent* event) {
  if (pressed_ && !dragged_ && area().contains(event->position()))
    setMoment(secondsAt(event->position().x()));
  pressed_.reset();
}

void MemoryMapView::mouseDoubleClickEvent(QMouseEvent*) {
  if (map_ != nullptr) setRange(0, map_->end_seconds);
}

void MemoryMapView::wheelEvent(QWheelEvent* event) {
  if (map_ == nullptr) return;
  const double at = std::clamp(secondsAt(event->position().x()), begin_, end_);
  const double factor = event->angleDelta().y() > 0 ? 1 / kZoomStep : kZoomStep;
  setRange(at - (at - begin_) * factor, at + (end_ - at) * factor);
  event->accept();
}

void MemoryMapView::keyPressEvent(QKeyEvent* event) {
  if (map_ == nullptr) return QWidget::keyPressEvent(event);
  const double pixel = (end_ - begin_) / area().width();
  const double step = pixel * (event->modifiers().testFlag(Qt::ShiftModifier) ? 20 : 1);
  const double middle = (begin_ + end_) / 2, half = (end_ - begin_) / 2;
  switch (event->key()) {
    case Qt::Key_Left:
      return setMoment(moment_ - step);
    case Qt::Key_Right:
      return setMoment(moment_ + step);
    case Qt::Key_Home:
      return setMoment(0);
    case Qt::Key_End:
      return setMoment(map_->end_seconds);
    case Qt::Key_Plus:
      return setRange(middle - half / kZoomStep, middle + half / kZoomStep);
    case Qt::Key_Minus:
      return setRange(middle - half * kZoomStep, middle + half * kZoomStep);
    case Qt::Key_0:
      return setRange(0, map_->end_seconds);
    default:
      QWidget::keyPressEvent(event);
  }
}

bool MemoryMapView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const reports::MapPlace* place = placeAt(help->pos());
  show_tooltip(help->globalPos(), place == nullptr ? QString() : textOf(*place), this);
  return true;
}

}  // namespace headroom::gui
