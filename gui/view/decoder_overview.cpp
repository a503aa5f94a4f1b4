#include "gui/view/decoder_overview.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/show_tooltip.h"

namespace headroom::gui {

DecoderOverview::DecoderOverview(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Peak of each pass"));
}

void DecoderOverview::setPicture(std::shared_ptr<const reports::DecoderPicture> picture) {
  picture_ = std::move(picture);
  pass_ = -1;
  update();
}

void DecoderOverview::setPass(int pass) {
  pass_ = pass;
  update();
}

QSize DecoderOverview::sizeHint() const {
  return {fontMetrics().height() * 40, fontMetrics().height() * 5};
}

QRectF DecoderOverview::rectOfPass(size_t pass) const {
  const double each = double(width()) / double(picture_->passes.size());
  return {each * double(pass), 0, each, double(height() - fontMetrics().height())};
}

int DecoderOverview::passAt(const QPointF& point) const {
  if (picture_ == nullptr || picture_->passes.empty() || point.x() < 0 || point.x() >= width()) return -1;
  return static_cast<int>(point.x() / width() * double(picture_->passes.size()));
}

int64_t DecoderOverview::mostBytes() const {
  int64_t most = reports::is_limit(picture_->limit_bytes) ? picture_->limit_bytes : 1;
  for (const reports::DrawnPass& pass : picture_->passes) most = std::max(most, pass.peak_bytes);
  return most;
}

void DecoderOverview::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (picture_ == nullptr || picture_->passes.empty()) return;
  const double scale = (height() - fontMetrics().height() - 4) / double(mostBytes());
  for (size_t i = 0; i < picture_->passes.size(); ++i) drawPass(painter, i, scale);
  drawStages(painter);
  if (!reports::is_limit(picture_->limit_bytes)) return;
  const double y = height() - fontMetrics().height() - double(picture_->limit_bytes) * scale;
  painter.setPen(QPen(colour_of(reports::ColourRole::limit, palette()), 1.5, Qt::DashLine));
  painter.drawLine(QPointF(0, y), QPointF(width(), y));
}

void DecoderOverview::drawPass(QPainter& painter, size_t number, double scale) const {
  const reports::DrawnPass& pass = picture_->passes[number];
  const QRectF column = rectOfPass(number);
  if (pass.decides_peak) {
    QColor tint = colour_of(reports::ColourRole::limit, palette());
    tint.setAlphaF(0.2F);
    painter.fillRect(column, tint);
  }
  const double inset = std::min(column.width() * 0.12, 4.0);
  double bottom = column.bottom();
  for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
    const double part = double(pass.use[kind]) * scale;
    painter.fillRect(QRectF(column.left() + inset, bottom - part, column.width() - 2 * inset, part),
                     colour_of(reports::colour_role_of(static_cast<MemoryKind>(kind)), palette()));
    bottom -= part;
  }
  if (static_cast<int>(number) != pass_) return;
  painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(column.adjusted(1, 1, -1, -1));
}

/// The name of each stage below its passes, where it has room.
void DecoderOverview::drawStages(QPainter& painter) const {
  const int line = fontMetrics().height();
  for (size_t i = 0; i < picture_->passes.size();) {
    size_t end = i;
    while (end < picture_->passes.size() && picture_->passes[end].stage == picture_->passes[i].stage) ++end;
    const QRectF place(rectOfPass(i).left(), height() - line,
                       rectOfPass(end - 1).right() - rectOfPass(i).left(), line);
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawLine(place.topLeft() + QPointF(0, 1), place.topLeft() + QPointF(0, line / 3.0));
    const QString name = QString::fromStdString(picture_->passes[i].stage);
    if (fontMetrics().horizontalAdvance(name) < place.width() - 4) {
      painter.setPen(palette().color(QPalette::Text));
      painter.drawText(place, Qt::AlignCenter, name);
    }
    i = end;
  }
}

void DecoderOverview::mousePressEvent(QMouseEvent* event) {
  const int pass = passAt(event->position());
  if (pass >= 0) Q_EMIT passChosen(pass);
}

bool DecoderOverview::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int number = passAt(help->pos());
  QString text;
  if (number >= 0) {
    const reports::DrawnPass& pass = picture_->passes[static_cast<size_t>(number)];
    text = tr("Pass %1, %2: %3")
               .arg(number)
               .arg(figure_text(pass.name), figure_text(reports::Unit::bytes, double(pass.peak_bytes)));
  }
  show_tooltip(help->globalPos(), text, this);
  return true;
}

}  // namespace headroom::gui
