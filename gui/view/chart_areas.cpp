#include "gui/view/chart_areas.h"

#include <algorithm>
#include <cmath>

namespace headroom::gui {

std::vector<int> ChartAreas::highestOfColumns(double pixel) const {
  const QRect area = clipRect();
  const auto columns = static_cast<int>(std::ceil(area.width() / pixel));
  std::vector<int> highest(static_cast<size_t>(std::max(columns, 0)), -1);
  const QCPAxis* axis = mParentPlot->xAxis;
  const QCPRange range = axis->range();
  const std::vector<double>& x = stack_.x;
  const std::vector<double>& top = stack_.tops.back();
  // Starts at the last moment at or before the visible range, because its values hold there.
  const auto visible = std::upper_bound(x.begin(), x.end(), range.lower);
  auto i = static_cast<size_t>(std::max<std::ptrdiff_t>(visible - x.begin() - 1, 0));
  // The last point only ends the areas.
  for (; i + 1 < x.size() && x[i] <= range.upper; ++i) {
    const auto column = [&](double at) { return (axis->coordToPixel(at) - area.left()) / pixel; };
    const int first = std::max(0, static_cast<int>(std::floor(column(x[i]))));
    const int end = std::min(columns, std::max(first + 1, static_cast<int>(std::ceil(column(x[i + 1])))));
    for (int c = first; c < end; ++c) {
      int& shown = highest[static_cast<size_t>(c)];
      if (shown < 0 || top[i] > top[static_cast<size_t>(shown)]) shown = static_cast<int>(i);
    }
  }
  return highest;
}

void ChartAreas::draw(QCPPainter* painter) {
  if (stack_.tops.empty() || stack_.x.empty()) return;
  const QRect area = clipRect();
  // In pixels of the screen, not of the plot.
  const double pixel = 1 / std::max(painter->deviceTransform().m11(), 1e-3);
  const std::vector<int> highest = highestOfColumns(pixel);
  const QCPAxis* axis = mParentPlot->yAxis;
  const double floor_pixel = axis->coordToPixel(axis->range().lower);
  painter->setPen(Qt::NoPen);
  for (size_t kind = 0; kind < std::min(stack_.tops.size(), colours_.size()); ++kind) {
    const auto edge = [&](size_t series, int moment) {
      return axis->coordToPixel(stack_.tops[series][static_cast<size_t>(moment)]);
    };
    QVector<QRectF> rows;
    for (size_t begin = 0; begin < highest.size();) {
      size_t end = begin + 1;
      while (end < highest.size() && highest[end] == highest[begin]) ++end;
      if (const int moment = highest[begin]; moment >= 0) {
        const double below = kind == 0 ? floor_pixel : edge(kind - 1, moment), above = edge(kind, moment);
        if (above < below)
          rows << QRectF(area.left() + double(begin) * pixel, above, double(end - begin) * pixel,
                         below - above);
      }
      begin = end;
    }
    painter->setBrush(colours_[kind]);
    painter->drawRects(rows);
  }
}

}  // namespace headroom::gui
