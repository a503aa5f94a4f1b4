#pragma once

#include <qcustomplot.h>

#include <QPalette>
#include <vector>

#include "reports/figures/chart.h"

namespace headroom::gui {

class ChartAreas;

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

}  // namespace headroom::gui
