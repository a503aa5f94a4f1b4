#include "gui/view/kept_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/fitting_name.h"
#include "gui/view/painting.h"
#include "gui/view/show_tooltip.h"
#include "gui/view/tier_colours.h"

namespace headroom::gui {
namespace {

constexpr int kLinesAbove = 2;

}  // namespace

KeptView::KeptView(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Kept tensors against passes"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::MinimumExpanding);
}

void KeptView::setSpans(std::vector<reports::KeptSpan> spans, int passes) {
  spans_ = std::move(spans);
  passes_ = passes;
  pass_ = chosen_ = -1;
  updateGeometry();
  update();
}

void KeptView::choose(int row) {
  if (row >= static_cast<int>(spans_.size()) || row < -1 || row == chosen_) return;
  chosen_ = row;
  setAccessibleDescription(row < 0 ? QString() : describe(spans_[static_cast<size_t>(row)]));
  update();
  Q_EMIT tensorChosen(row);
}

void KeptView::setPass(int pass) {
  pass_ = pass;
  update();
}

// A line for the legend, one for the numbers of passes, one for each tensor.

int KeptView::rowHeight() const {
  return fontMetrics().height() * 5 / 4;
}

int KeptView::namesWidth() const {
  int widest = 0;
  for (const reports::KeptSpan& span : spans_)
    widest = std::max(widest, fontMetrics().horizontalAdvance(figure_text(span.tensor)));
  return std::min(widest + fontMetrics().height(), width() * 2 / 5);
}

double KeptView::columnWidth() const {
  return double(width() - namesWidth() - fontMetrics().height() / 2) / std::max(passes_, 1);
}

double KeptView::left(int pass) const {
  return namesWidth() + columnWidth() * pass;
}

int KeptView::rowAt(double y) const {
  const int row = static_cast<int>(std::floor(y / rowHeight())) - kLinesAbove;
  return row >= 0 && row < static_cast<int>(spans_.size()) ? row : -1;
}

int KeptView::passAt(double x) const {
  const int pass = static_cast<int>(std::floor((x - namesWidth()) / columnWidth()));
  return pass >= 0 && pass < passes_ ? pass : -1;
}

QSize KeptView::minimumSizeHint() const {
  const int line = fontMetrics().height();
  return {line * 16, rowHeight() * (static_cast<int>(spans_.size()) + kLinesAbove) + line / 4};
}

QSize KeptView::sizeHint() const {
  return {fontMetrics().height() * 28, minimumSizeHint().height()};
}

QString KeptView::describe(const reports::KeptSpan& span) const {
  QStringList reads;
  for (const int32_t pass : span.read_in) reads << QString::number(pass);
  QString text = tr("%1: %2 %3, written in pass %4, read in %5")
                     .arg(QString::fromStdString(span.tensor),
                          figure_text(reports::Unit::bytes, double(span.bytes)), words_of(span.tier))
                     .arg(span.first_pass)
                     .arg(reads.join(", "));
  text += QString::fromStdString(span.above);
  if (!span.in_place_of.empty()) text += tr(", in place of %1").arg(QString::fromStdString(span.in_place_of));
  return text;
}

void KeptView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  drawColumns(painter);
  for (int row = 0; row < static_cast<int>(spans_.size()); ++row) drawRow(painter, row);
  drawLegend(painter);
  if (hasFocus()) {
    painter.setPen(palette().color(QPalette::Highlight));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

/// Numbers of passes; the one that is looked at and those that read what is chosen stand out.
void KeptView::drawColumns(QPainter& painter) const {
  const int top = rowHeight() * (kLinesAbove - 1), lines = static_cast<int>(spans_.size()) + 1;
  const auto shade = [&](int pass, float strength) {
    QColor colour = palette().color(QPalette::Highlight);
    colour.setAlphaF(strength);
    painter.fillRect(QRectF(left(pass), top, columnWidth(), lines * rowHeight()), colour);
  };
  if (chosen_ >= 0) {
    for (const int32_t pass : spans_[static_cast<size_t>(chosen_)].read_in) shade(pass, 0.25F);
  }
  if (pass_ >= 0 && pass_ < passes_) shade(pass_, 0.45F);
  const int widest = fontMetrics().horizontalAdvance(QString::number(passes_)) + fontMetrics().height() / 2;
  const int every = std::max(1, static_cast<int>(std::ceil(widest / std::max(columnWidth(), 0.1))));
  painter.setPen(palette().color(QPalette::Text));
  for (int pass = 0; pass < passes_; pass += every)
    painter.drawText(QRectF(left(pass), top, columnWidth() * every, rowHeight()),
                     Qt::AlignLeft | Qt::AlignVCenter, QString::number(pass));
}

void KeptView::drawRow(QPainter& painter, int row) const {
  const reports::KeptSpan& span = spans_[static_cast<size_t>(row)];
  const int top = rowHeight() * (row + kLinesAbove), inset = rowHeight() / 8;
  if (row == chosen_)
    painter.fillRect(0, top, namesWidth(), rowHeight(), palette().color(QPalette::Highlight));
  painter.setPen(palette().color(row == chosen_ ? QPalette::HighlightedText : QPalette::Text));
  const int gap = fontMetrics().height() / 4;
  // The end of a name tells more than its beginning.
  const QString name = fitting_name(figure_text(span.tensor), QFontMetricsF(font()), namesWidth() - 2 * gap);
  painter.drawText(QRect(gap, top, namesWidth() - 2 * gap, rowHeight()), Qt::AlignLeft | Qt::AlignVCenter,
                   name);

  const QRectF bar(left(span.first_pass), top + inset, columnWidth() * (span.last_pass - span.first_pass + 1),
                   rowHeight() - 2 * inset);
  painter.setPen(row == chosen_ ? QPen(palette().color(QPalette::Text), 2) : QPen(Qt::NoPen));
  painter.setBrush(colour_of(span.tier, palette()));
  painter.drawRect(bar);
  painter.setPen(Qt::NoPen);
  painter.setBrush(palette().color(QPalette::Base));
  const double radius = std::min(bar.height() / 5, columnWidth() / 3);
  for (const int32_t pass : span.read_in) {
    painter.drawEllipse(QPointF(left(pass) + columnWidth() / 2, bar.center().y()), radius, radius);
  }
  if (!span.in_place_of.empty()) {
    // It begins where another one ends.
    painter.setPen(QPen(palette().color(QPalette::Text), 2, Qt::DotLine));
    painter.drawLine(bar.topLeft(), bar.bottomLeft());
  }
}

void KeptView::drawLegend(QPainter& painter) const {
  const int line = fontMetrics().height(), top = (rowHeight() - line) / 2;
  int x = line / 4;
  for (const MemoryTier tier : {MemoryTier::device, MemoryTier::host, MemoryTier::scratch}) {
    const bool used =
        std::any_of(spans_.begin(), spans_.end(), [&](const reports::KeptSpan& s) { return s.tier == tier; });
    if (!used) continue;
    painter.fillRect(QRect(x, top + line / 6, line * 2 / 3, line * 2 / 3), colour_of(tier, palette()));
    x += line;
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(QPoint(x, top + fontMetrics().ascent()), words_of(tier));
    x += fontMetrics().horizontalAdvance(words_of(tier)) + line;
  }
  if (spans_.empty()) return;
  painter.drawText(QPoint(x, top + fontMetrics().ascent()), tr("○ read"));
}

void KeptView::mousePressEvent(QMouseEvent* event) {
  const int row = rowAt(event->position().y()), pass = passAt(event->position().x());
  choose(row);
  if (pass >= 0) Q_EMIT passChosen(pass);
}

void KeptView::keyPressEvent(QKeyEvent* event) {
  const int last = static_cast<int>(spans_.size()) - 1;
  switch (event->key()) {
    case Qt::Key_Down:
      return choose(std::min(chosen_ + 1, last));
    case Qt::Key_Up:
      return choose(std::max(chosen_ - 1, std::min(0, last)));
    case Qt::Key_Right:
      if (pass_ + 1 < passes_) Q_EMIT passChosen(pass_ + 1);
      return;
    case Qt::Key_Left:
      if (pass_ > 0) Q_EMIT passChosen(pass_ - 1);
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

bool KeptView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = rowAt(help->pos().y());
    show_tooltip(help->globalPos(), row < 0 ? QString() : describe(spans_[static_cast<size_t>(row)]), this);
    return true;
  }
  return QWidget::event(event);
}

Export KeptView::exporter(const QString& name) {
  return painting_of(*this, name);
}

}  // namespace headroom::gui
