#include "gui/view/chart_head.h"

#include <algorithm>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"

namespace headroom::gui {
namespace {

constexpr int kSwatch = 14, kAfterSwatch = 5, kBetween = 16;
const QMargins kAround(8, 3, 8, 0);

}  // namespace

ChartHead::ChartHead(QCustomPlot* plot) : QCPLayoutElement(plot) {
  setMargins(kAround);
}

void ChartHead::show(const reports::Chart& chart, const QPalette& palette, const QFont& font) {
  title_ = figure_text(chart.title);
  entries_.clear();
  for (const reports::Series& series : chart.series) {
    if (!series.name.empty())
      entries_.push_back({figure_text(series.name), colour_of(series.colour_role, palette), series.mark, {}});
  }
  // One needs no legend; where all look alike, notes name them.
  const bool alike =
      std::all_of(chart.series.begin(), chart.series.end(), [&](const reports::Series& series) {
        return series.colour_role == chart.series.front().colour_role &&
               series.mark == chart.series.front().mark;
      });
  if (alike) entries_.clear();
  if (chart.strip) {
    entries_.push_back({figure_text(chart.strip->name),
                        colour_of(chart.strip->colour_role, palette),
                        reports::Mark::area,
                        {}});
  }
  text_ = palette.color(QPalette::Text);
  font_ = title_font_ = font;
  title_font_.setBold(true);
}

int ChartHead::arrange(int width) const {
  const QFontMetrics metrics(font_);
  const int line = QFontMetrics(title_font_).height() + 3;
  int y = 0, x = 0;
  if (!title_.isEmpty())
    x = std::min(QFontMetrics(title_font_).horizontalAdvance(title_), width) + 2 * kBetween;
  for (Entry& entry : entries_) {
    const int entry_width = kSwatch + kAfterSwatch + metrics.horizontalAdvance(entry.name);
    if (x > 0 && x + entry_width > width) {
      x = 0;
      y += line;
    }
    entry.at = QPointF(x, y + line / 2.0);
    x += entry_width + kBetween;
  }
  return entries_.empty() && title_.isEmpty() ? 0 : y + line;
}

QSize ChartHead::minimumOuterSizeHint() const {
  const int around = kAround.left() + kAround.right();
  return {0, arrange(mParentPlot->viewport().width() - around) + kAround.top()};
}

void ChartHead::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  painter->setAntialiasing(false);
}

void ChartHead::draw(QCPPainter* painter) {
  const QRect area = rect();
  arrange(area.width());
  painter->setPen(text_);
  if (!title_.isEmpty()) {
    painter->setFont(title_font_);
    const QFontMetrics metrics(title_font_);
    painter->drawText(area.left(), area.top() + metrics.ascent() + 1,
                      metrics.elidedText(title_, Qt::ElideMiddle, area.width()));
  }
  painter->setFont(font_);
  const QFontMetrics metrics(font_);
  for (const Entry& entry : entries_) {
    const QPointF at = entry.at + area.topLeft();
    painter->setPen(Qt::NoPen);
    painter->setBrush(entry.colour);
    if (entry.mark == reports::Mark::area || entry.mark == reports::Mark::bars) {
      painter->drawRect(QRectF(at.x(), at.y() - 5, kSwatch - 3, 10));
    } else if (entry.mark == reports::Mark::points) {
      painter->setAntialiasing(true);
      painter->drawEllipse(at + QPointF(kSwatch / 2.0, 0), 4, 4);
      painter->setAntialiasing(false);
    } else {
      painter->drawRect(QRectF(at.x(), at.y() - 1, kSwatch, 3));
    }
    painter->setPen(text_);
    const double baseline = at.y() + (metrics.ascent() - metrics.descent()) / 2.0;
    painter->drawText(QPointF(at.x() + kSwatch + kAfterSwatch, baseline), entry.name);
  }
}

}  // namespace headroom::gui
