#include "gui/view/lanes_view.h"

#include <QHelpEvent>
#include <QPainter>
#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/view/painting.h"
#include "gui/view/show_tooltip.h"

namespace headroom::gui {
namespace {

constexpr double kNarrowest = 1;  ///< pixels: what is shorter is seen all the same
constexpr float kFaintest = 0.25F;
constexpr int kMostToldOf = 6;

QString name_of_kind(ActivityKind kind) {
  switch (kind) {
    case ActivityKind::kernel:
      return LanesView::tr("kernels");
    case ActivityKind::copy:
      return LanesView::tr("copies");
    case ActivityKind::fill:
      return LanesView::tr("fills");
  }
  return {};
}

}  // namespace

QColor colour_of_pass(int pass, const QPalette& palette) {
  const bool dark = palette.color(QPalette::Base).lightness() < 128;
  if (pass < 0) return palette.color(QPalette::PlaceholderText);
  // Steps by the golden angle: neighbours are far apart.
  return QColor::fromHsv(static_cast<int>(pass * 137.508) % 360, dark ? 150 : 170, dark ? 215 : 185);
}

LanesView::LanesView(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("What the GPU's streams did"));
  hide();
}

void LanesView::setTrace(const reports::DocumentPtr& trace) {
  const RecordedTrace* recorded = trace == nullptr ? nullptr : trace->as<RecordedTrace>();
  trace_ = recorded != nullptr && !recorded->trace.activities.empty() ? trace : nullptr;
  if (trace_ != nullptr) {
    begin_ = 0;
    end_ = recorded->trace.seconds;
  }
  refresh();
  setVisible(trace_ != nullptr);
}

void LanesView::setRange(double begin, double end) {
  if (begin == begin_ && end == end_) return;
  begin_ = begin;
  end_ = end;
  refresh();
}

void LanesView::setArea(int left, int right) {
  if (left == left_ && right == right_) return;
  left_ = left;
  right_ = right;
  refresh();
}

void LanesView::refresh() {
  lanes_.clear();
  if (trace_ != nullptr && right_ > left_)
    lanes_ = reports::stream_lanes(trace(), begin_, end_, static_cast<size_t>(right_ - left_));
  setFixedHeight(sizeHint().height());
  update();
}

int LanesView::laneHeight() const {
  return fontMetrics().height() * 5 / 4;
}

QSize LanesView::sizeHint() const {
  return {fontMetrics().height() * 30, static_cast<int>(lanes_.size()) * laneHeight() + 2};
}

double LanesView::across(double seconds) const {
  return left_ + (seconds - begin_) / (end_ - begin_) * (right_ - left_);
}

void LanesView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  for (size_t i = 0; i < lanes_.size(); ++i) drawLane(painter, i);
}

void LanesView::drawLane(QPainter& painter, size_t number) const {
  const reports::StreamLane& lane = lanes_[number];
  const QRectF row(0, double(number) * laneHeight(), width(), laneHeight());
  if (number % 2 == 1) painter.fillRect(row, palette().color(QPalette::AlternateBase));
  painter.setPen(palette().color(QPalette::Text));
  painter.drawText(QRectF(4, row.top(), left_ - 8, row.height()), Qt::AlignRight | Qt::AlignVCenter,
                   fontMetrics().elidedText(figure_text(lane.title), Qt::ElideRight, left_ - 8));
  painter.setClipRect(QRectF(left_, row.top(), right_ - left_, row.height()));
  for (const reports::LaneBlock& block : lane.blocks) {
    QRectF place(across(block.begin_seconds), row.top() + 2, 0, row.height() - 4);
    place.setRight(std::max(across(block.end_seconds), place.left() + kNarrowest));
    if (block.kind == ActivityKind::copy) place.setTop(place.center().y());
    if (block.kind == ActivityKind::fill) place.setTop(place.bottom() - 2);
    QColor colour = colour_of_pass(block.pass, palette());
    const double length = block.end_seconds - block.begin_seconds;
    if (length > 0 && block.activities != 1)
      colour.setAlphaF(std::max(kFaintest, static_cast<float>(block.busy_seconds / length)));
    painter.fillRect(place, colour);
    if (block.activities == 1 && place.width() > 6) {
      painter.setPen(palette().color(QPalette::Base));
      painter.drawLine(place.topRight(), place.bottomRight());
    }
  }
  painter.setClipping(false);
}

QString LanesView::textAt(const QPointF& point) const {
  const auto number = static_cast<size_t>(std::max(0.0, point.y() / laneHeight()));
  if (number >= lanes_.size() || point.x() < left_ || point.x() > right_) return {};
  const double seconds = begin_ + (point.x() - left_) / (right_ - left_) * (end_ - begin_);
  const double pixel = (end_ - begin_) / (right_ - left_);
  QStringList lines{figure_text(lanes_[number].title)};
  const auto& names = trace().pass_names;
  for (const reports::LaneBlock& block : lanes_[number].blocks) {
    if (seconds < block.begin_seconds - pixel || seconds > block.end_seconds + pixel) continue;
    if (lines.size() > kMostToldOf) return (lines << QStringLiteral("…")).join(QLatin1Char('\n'));
    const QString what =
        block.name >= 0
            ? QString::fromStdString(trace().trace.activity_names[static_cast<size_t>(block.name)])
        : lanes_[number].tiles ? tr("a tile")
                               : name_of_kind(block.kind);
    const QString pass = block.pass >= 0 && block.pass < std::ssize(names)
                             ? figure_text(names[static_cast<size_t>(block.pass)])
                             : tr("of no pass");
    lines << tr("%1, %2, %3").arg(what, figure_text(reports::Unit::seconds, block.busy_seconds), pass);
  }
  return lines.join(QLatin1Char('\n'));
}

bool LanesView::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  show_tooltip(help->globalPos(), textAt(help->pos()), this);
  return true;
}

Export LanesView::exporter(const QString& name) {
  return painting_of(*this, name);
}

}  // namespace headroom::gui
