#include "gui/view/chart_series.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "gui/view/chart_areas.h"
#include "gui/view/chart_view.h"

namespace headroom::gui {
namespace {

/// Up to this many points get markers, which tell computed values from the lines between them.
constexpr size_t kMostDots = 80;
constexpr std::array kDashes{Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};

QSharedPointer<QCPGraphDataContainer> data_of(const reports::Series& series) {
  auto data = QSharedPointer<QCPGraphDataContainer>::create();
  QVector<QCPGraphData> points;
  const size_t count = std::min(series.x.size(), series.y.size());
  points.reserve(static_cast<qsizetype>(count));
  for (size_t i = 0; i < count; ++i) points.append(QCPGraphData(series.x[i], series.y[i]));
  data->set(points, true);
  return data;
}

}  // namespace

ChartSeries::ChartSeries(QCustomPlot& plot) : plot_(plot), areas_(new ChartAreas(&plot)) {}

bool ChartSeries::fits(const reports::Chart& chart) const {
  if (shown_.size() != chart.series.size()) return false;
  for (size_t i = 0; i < shown_.size(); ++i) {
    if (shown_[i].mark != chart.series[i].mark) return false;
  }
  return true;
}

void ChartSeries::rebuild(const reports::Chart& chart) {
  plot_.clearPlottables();
  shown_.assign(chart.series.size(), {});
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const reports::Mark mark = chart.series[i].mark;
    shown_[i].mark = mark;
    if (mark == reports::Mark::area) continue;
    shown_[i].graph = plot_.addGraph();
    shown_[i].graph->setLineStyle(mark == reports::Mark::line    ? QCPGraph::lsLine
                                  : mark == reports::Mark::steps ? QCPGraph::lsStepLeft
                                                                 : QCPGraph::lsNone);
  }
}

void ChartSeries::show(const reports::Chart& chart) {
  if (!fits(chart)) rebuild(chart);
  areas_->show(reports::stacked_areas(chart));
  for (size_t i = 0; i < chart.series.size(); ++i) {
    if (shown_[i].graph != nullptr) shown_[i].graph->setData(data_of(chart.series[i]));
  }
}

void ChartSeries::colour(const reports::Chart& chart, const QPalette& palette) {
  // Dashes tell lines of one colour role apart.
  std::map<std::pair<reports::ColourRole, reports::Mark>, size_t> seen;
  std::vector<QColor> areas;
  for (size_t i = 0; i < shown_.size(); ++i) {
    const reports::Series& series = chart.series[i];
    const QColor colour = colour_of(series.colour_role, palette);
    if (series.mark == reports::Mark::area) {
      areas.push_back(colour);
    } else {
      const size_t alike = seen[{series.colour_role, series.mark}]++;
      shown_[i].graph->setPen(QPen(colour, 2, kDashes[alike % kDashes.size()]));
      const bool dots = series.mark == reports::Mark::points ||
                        (series.mark == reports::Mark::line && series.x.size() <= kMostDots);
      shown_[i].graph->setScatterStyle(dots ? QCPScatterStyle(QCPScatterStyle::ssDisc, colour, colour,
                                                              series.mark == reports::Mark::points ? 8 : 5)
                                            : QCPScatterStyle(QCPScatterStyle::ssNone));
    }
  }
  areas_->colour(areas);
}

}  // namespace headroom::gui
