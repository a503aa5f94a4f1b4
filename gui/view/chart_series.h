#pragma once

#include <qcustomplot.h>
#include <QPalette>
#include <vector>

#include "reports/figures/chart.h"

namespace headroom::gui {

/// Stacked areas, drawn as columns of pixels. Each value holds until the next x. QCPGraph would fill
/// polygons, which takes a second for thousands of steep steps. If several moments share a pixel, the highest
/// is drawn, so every peak stays visible.
class ChartAreas final : public QCPLayerable {
 public:
  explicit ChartAreas(QCustomPlot* plot) : QCPLayerable(plot, QStringLiteral("main")) {}
  void show(reports::Stack stack) { stack_ = std::move(stack); }
  void colour(const std::vector<QColor>& colours) { colours_ = colours; }

 protected:
  QRect clipRect() const override { return mParentPlot->axisRect()->rect(); }
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(false); }
  void draw(QCPPainter* painter) override;

 private:
  /// Index of the highest moment in each column of pixels, which is the one drawn; -1 if there is none.
  /// `pixel` is the width of a column. Columns start at the left edge.
  std::vector<int> highestOfColumns(double pixel) const;
  reports::Stack stack_;
  std::vector<QColor> colours_;  ///< parallel to the stack's tops
};

/// The plottables of a chart's series. If a new chart has the same series, only their data are replaced. So
/// panning costs no more than the visible columns.
class ChartSeries {
 public:
  explicit ChartSeries(QCustomPlot& plot);

  void show(const reports::Chart& chart);
  void colour(const reports::Chart& chart, const QPalette& palette);

 private:
  struct Shown {
    reports::Mark mark{};
    QCPGraph* graph = nullptr;  ///< for lines, steps and points
  };
  bool fits(const reports::Chart& chart) const;
  void rebuild(const reports::Chart& chart);
  QCustomPlot& plot_;
  std::vector<Shown> shown_;  ///< parallel to the chart's series
  ChartAreas* areas_;         ///< below everything else; owned by the plot
};

/// Places ticks as the reports do, in the axis's unit.
QSharedPointer<QCPAxisTicker> ticker_of(const reports::ChartAxis& axis);

/// Text for the value under the pointer. It differs from the text of a value one `step` away. It has the
/// reports' format, or more digits if that format cannot tell the two apart.
QString tick_text(reports::Unit unit, double value, double step);

}  // namespace headroom::gui
