#include "gui/view/chart_layers.h"

#include <algorithm>
#include <cmath>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/colours.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

constexpr double kPadding = 3;

/// Moves a label down, then up, until it covers no other label.
QRectF freed(QRectF place, const std::vector<QRectF>& taken, const QRect& within) {
  const auto collides = [&](const QRectF& candidate) {
    return std::any_of(taken.begin(), taken.end(),
                       [&](const QRectF& other) { return other.intersects(candidate); });
  };
  for (const int direction : {1, -1}) {
    for (int step = 0; step < 6; ++step) {
      const QRectF moved = place.translated(0, direction * step * (place.height() + 1));
      if (moved.top() >= within.top() && moved.bottom() <= within.bottom() + 1 && !collides(moved))
        return moved;
    }
  }
  return place;
}

QRectF kept_within(QRectF place, const QRect& within) {
  if (place.right() > within.right()) place.moveRight(within.right());
  if (place.left() < within.left()) place.moveLeft(within.left());
  if (place.bottom() > within.bottom()) place.moveBottom(within.bottom());
  if (place.top() < within.top()) place.moveTop(within.top());
  return place;
}

}  // namespace

void ChartLayer::setLook(const QPalette& palette, const QFont& font) {
  palette_ = palette;
  font_ = font;
}

QRect ChartLayer::clipRect() const {
  return mParentPlot->axisRect()->rect();
}

void ChartLayer::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  painter->setAntialiasing(true);
}

void ChartLayer::label(QCPPainter* painter, const QRectF& place, const QString& text,
                       const QColor& colour) const {
  QColor ground = palette_.color(QPalette::Base);
  ground.setAlpha(205);
  painter->setPen(Qt::NoPen);
  painter->setBrush(ground);
  painter->drawRect(place);
  painter->setPen(colour);
  painter->setFont(font_);
  painter->drawText(place, Qt::AlignCenter, text);
}

void ChartBands::draw(QCPPainter* painter) {
  const QRect area = clipRect();
  const QCPAxis* axis = mParentPlot->xAxis;
  QColor band = palette_.color(QPalette::Text);
  band.setAlpha(16);
  painter->setAntialiasing(false);
  painter->setPen(Qt::NoPen);
  painter->setBrush(band);
  for (size_t i = 1; i < spans_.size(); i += 2) {
    const double left = axis->coordToPixel(spans_[i].begin), right = axis->coordToPixel(spans_[i].end);
    if (right < area.left() || left > area.right()) continue;
    painter->drawRect(QRectF(left, area.top(), right - left, area.height()));
  }
}

void ChartFoot::draw(QCPPainter* painter) {
  if (!strip_ || strip_->share.empty()) return;
  constexpr double kHeight = 9;
  const QRect area = clipRect();
  const QCPAxis* axis = mParentPlot->xAxis;
  const double ground = area.bottom() + 1.0;
  painter->setAntialiasing(false);
  painter->fillRect(QRectF(area.left(), ground - kHeight, area.width(), kHeight),
                    palette_.color(QPalette::Base));
  const QColor colour = colour_of(strip_->colour_role, palette_);
  for (size_t i = 0; i < strip_->share.size(); ++i) {
    const double left = axis->coordToPixel(strip_->x[i]), right = axis->coordToPixel(strip_->x[i + 1]);
    if (strip_->share[i] <= 0 || right < area.left() || left > area.right()) continue;
    const double height = kHeight * strip_->share[i];
    painter->fillRect(QRectF(left, ground - height, std::max(1.0, right - left), height), colour);
  }
}

void ChartMarks::show(const reports::Chart& chart) {
  spans_ = chart.spans;
  guides_ = chart.guides;
  notes_ = chart.notes;
}

void ChartMarks::draw(QCPPainter* painter) {
  labels_.clear();
  drawNames(painter);
  for (const reports::Guide& guide : guides_) drawGuide(painter, guide);
  for (const reports::Note& note : notes_) drawNote(painter, note);
}

void ChartMarks::drawNames(QCPPainter* painter) {
  const QRect area = clipRect();
  const QCPAxis* axis = mParentPlot->xAxis;
  QFont small = font_;
  small.setPointSizeF(font_.pointSizeF() * 0.85);
  const QFontMetricsF metrics(small);
  QColor faint = palette_.color(QPalette::Text);
  faint.setAlpha(150);
  painter->setFont(small);
  painter->setPen(faint);
  for (const reports::Span& span : spans_) {
    const double left = std::max(axis->coordToPixel(span.begin), double(area.left())) + kPadding;
    const double right = std::min(axis->coordToPixel(span.end), double(area.right())) - kPadding;
    if (right - left < metrics.averageCharWidth() * 5) continue;
    // The end of a layer's name is the most specific part.
    const QString name = fitting_name(figure_text(span.name), metrics, right - left);
    const QRectF place(left, area.top() + 1, right - left, metrics.height());
    if (!name.isEmpty()) labels_.push_back(metrics.boundingRect(place, Qt::AlignCenter, name));
    painter->drawText(place, Qt::AlignCenter, name);
  }
}

void ChartMarks::drawGuide(QCPPainter* painter, const reports::Guide& guide) {
  const QRect area = clipRect();
  const QCPAxis* axis = guide.vertical ? mParentPlot->xAxis : mParentPlot->yAxis;
  if (axis->scaleType() == QCPAxis::stLogarithmic && guide.at <= 0) return;
  const QColor colour = colour_of(guide.colour_role, palette_);
  const double at = axis->coordToPixel(guide.at);
  const QFontMetricsF metrics(font_);
  QString text = figure_text(guide.label);
  painter->setPen(QPen(colour, 1.5, Qt::DashLine));
  if (guide.vertical) {
    if (at < area.left() || at > area.right()) return;
    painter->drawLine(QPointF(at, area.top()), QPointF(at, area.bottom()));
    const QSizeF size(metrics.horizontalAdvance(text) + 2 * kPadding, metrics.height());
    const bool left = at + size.width() + kPadding > area.right();
    const QRectF place(QPointF(left ? at - size.width() - kPadding : at + kPadding, area.top() + kPadding),
                       size);
    labels_.push_back(freed(kept_within(place, area), labels_, area));
  } else {
    const bool above = at < area.top();
    const bool below = at > area.bottom();
    if (above) text += QStringLiteral(" ↑");
    if (below) text += QStringLiteral(" ↓");
    if (!above && !below) painter->drawLine(QPointF(area.left(), at), QPointF(area.right(), at));
    const QSizeF size(metrics.horizontalAdvance(text) + 2 * kPadding, metrics.height());
    const double names = spans_.empty() ? 0 : metrics.height();  // below the names of bands
    double top = above ? area.top() + names : at - size.height() - 1;
    if (!above && top < area.top() + names) top = at + 2;
    const QRectF place(QPointF(area.right() - size.width() - kPadding, top), size);
    labels_.push_back(freed(kept_within(place, area), labels_, area));
  }
  if (!text.isEmpty()) label(painter, labels_.back(), text, colour);
}

void ChartMarks::drawNote(QCPPainter* painter, const reports::Note& note) {
  const QRect area = clipRect();
  const QPointF at(mParentPlot->xAxis->coordToPixel(note.x), mParentPlot->yAxis->coordToPixel(note.y));
  if (!std::isfinite(at.x()) || !std::isfinite(at.y()) || at.x() < area.left() - 1 ||
      at.x() > area.right() + 1)
    return;
  const QColor text_colour = palette_.color(QPalette::Text);
  painter->setPen(QPen(text_colour, 1.5));
  painter->setBrush(palette_.color(QPalette::Base));
  painter->drawEllipse(at, 3.5, 3.5);
  const QString text = figure_text(note.text);
  const QFontMetricsF metrics(font_);
  const QSizeF size(metrics.horizontalAdvance(text) + 2 * kPadding, metrics.height());
  const bool left = at.x() + size.width() + 8 > area.right();
  // Placed above the point, so that curves on both sides stay visible.
  const QRectF place(QPointF(left ? at.x() - size.width() - 5 : at.x() + 5, at.y() - size.height() - 3),
                     size);
  labels_.push_back(freed(kept_within(place, area), labels_, area));
  label(painter, labels_.back(), text, text_colour);
}

bool ChartCursor::onHandle(const QPointF& position) const {
  constexpr double kReach = 7;
  if (!handle || !clipRect().adjusted(-4, -4, 4, 4).contains(position.toPoint())) return false;
  return handle->vertical ? std::abs(mParentPlot->xAxis->coordToPixel(handle->at) - position.x()) <= kReach
                          : std::abs(mParentPlot->yAxis->coordToPixel(handle->at) - position.y()) <= kReach;
}

/// Draws a line across the plot, except over labels.
void ChartCursor::drawLine(QCPPainter* painter, double at, bool vertical) const {
  // In both directions, `along` runs along the line.
  const QRectF area = clipRect();
  const auto along = [&](const QRectF& rect) {
    return vertical ? std::pair(rect.top(), rect.bottom()) : std::pair(rect.left(), rect.right());
  };
  const auto draw = [&](double from, double to) {
    if (from >= to) return;
    painter->drawLine(vertical ? QPointF(at, from) : QPointF(from, at),
                      vertical ? QPointF(at, to) : QPointF(to, at));
  };
  std::vector<std::pair<double, double>> crossed;
  for (const QRectF& label : marks->labels()) {
    if (vertical ? label.left() <= at && at <= label.right() : label.top() <= at && at <= label.bottom())
      crossed.push_back(along(label));
  }
  std::sort(crossed.begin(), crossed.end());
  double from = along(area).first;
  for (const auto& [begin, end] : crossed) {
    draw(from, begin);
    from = std::max(from, end);
  }
  draw(from, along(area).second);
}

/// The place of the handle's grip: near the middle of its line, beside labels.
QRectF ChartCursor::grip(double at) const {
  const QRectF area = clipRect();
  const QSizeF size = handle->vertical ? QSizeF(9, 22) : QSizeF(22, 9);
  const auto place = [&](double share) {
    QRectF rect({}, size);
    rect.moveCenter(handle->vertical ? QPointF(at, area.top() + share * area.height())
                                     : QPointF(area.left() + share * area.width(), at));
    return rect;
  };
  for (const double share : {0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8}) {
    const QRectF rect = place(share);
    if (std::none_of(marks->labels().begin(), marks->labels().end(),
                     [&](const QRectF& label) { return label.intersects(rect); }))
      return rect;
  }
  return place(0.5);
}

void ChartCursor::draw(QCPPainter* painter) {
  const QRect area = clipRect();
  const QFontMetricsF metrics(font_);
  if (selected) {
    const double left = std::max(mParentPlot->xAxis->coordToPixel(selected->first), double(area.left()));
    const double right = std::min(mParentPlot->xAxis->coordToPixel(selected->second), double(area.right()));
    QColor tint = palette_.color(QPalette::Highlight);
    painter->setPen(tint);
    tint.setAlpha(50);
    painter->setBrush(tint);
    if (left < right) painter->drawRect(QRectF(left, area.top(), right - left, area.height()));
  }
  if (x) {
    painter->setPen(QPen(palette_.color(QPalette::Text), pinned ? 2 : 1));
    drawLine(painter, mParentPlot->xAxis->coordToPixel(*x), /*vertical=*/true);
  }
  if (!handle) return;
  const QCPAxis* axis = handle->vertical ? mParentPlot->xAxis : mParentPlot->yAxis;
  const double at = axis->coordToPixel(handle->at);
  if (!std::isfinite(at)) return;
  const QColor colour = colour_of(reports::ColourRole::limit, palette_);
  painter->setPen(QPen(colour, 2));
  drawLine(painter, at, handle->vertical);
  painter->setBrush(palette_.color(QPalette::Base));
  painter->drawRoundedRect(grip(at), 3, 3);
  if (handle->label.isEmpty()) return;
  const QSizeF size(metrics.horizontalAdvance(handle->label) + 2 * kPadding, metrics.height());
  const QPointF corner = handle->vertical ? QPointF(at + 7, area.bottom() - size.height() - 4)
                                          : QPointF(area.right() - size.width() - 4, at - size.height() - 3);
  QRectF place(corner, size);
  if (handle->vertical && place.right() > area.right()) place.moveRight(at - 7);
  label(painter, kept_within(place, area), handle->label, colour);
}

}  // namespace headroom::gui
