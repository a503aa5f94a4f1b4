#include "gui/view/chart_series.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "gui/view/chart_areas.h"
#include "gui/view/chart_view.h"

namespace headroom::gui {
namespace {

/// Few points are drawn as such, so that one sees what was computed and what lies between.
constexpr size_t kMostDots = 80;
constexpr std::array kDashes{Qt::SolidLine, Qt::DashLine, Qt::DotLine, Qt::DashDotLine};

template <typename Data>
QSharedPointer<QCPDataContainer<Data>> data_of(const std::vector<double>& x, const std::vector<double>& y) {
  auto data = QSharedPointer<QCPDataContainer<Data>>::create();
  QVector<Data> points;
  const size_t count = std::min(x.size(), y.size());
  points.reserve(static_cast<qsizetype>(count));
  for (size_t i = 0; i < count; ++i) points.append(Data(x[i], y[i]));
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
  const auto bars =
      std::count_if(chart.series.begin(), chart.series.end(),
                    [](const reports::Series& series) { return series.mark == reports::Mark::bars; });
  delete group_;
  group_ = bars > 1 ? new QCPBarsGroup(&plot_) : nullptr;
  if (group_ != nullptr) {
    group_->setSpacingType(QCPBarsGroup::stPlotCoords);
    group_->setSpacing(0);
  }
  for (size_t i = 0; i < chart.series.size(); ++i) {
    shown_[i].mark = chart.series[i].mark;
    switch (chart.series[i].mark) {
      case reports::Mark::area:
        break;
      case reports::Mark::bars:
        shown_[i].bars = new QCPBars(plot_.xAxis, plot_.yAxis);
        shown_[i].bars->setWidth(0.8 / double(bars));
        shown_[i].bars->setAntialiased(false);
        if (group_ != nullptr) shown_[i].bars->setBarsGroup(group_);
        break;
      case reports::Mark::line:
      case reports::Mark::steps:
      case reports::Mark::points:
        shown_[i].graph = plot_.addGraph();
        shown_[i].graph->setLineStyle(chart.series[i].mark == reports::Mark::line    ? QCPGraph::lsLine
                                      : chart.series[i].mark == reports::Mark::steps ? QCPGraph::lsStepLeft
                                                                                     : QCPGraph::lsNone);
        break;
    }
  }
}

void ChartSeries::show(const reports::Chart& chart) {
  if (!fits(chart)) rebuild(chart);
  areas_->show(stacked(chart));
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const reports::Series& series = chart.series[i];
    if (shown_[i].bars != nullptr) shown_[i].bars->setData(data_of<QCPBarsData>(series.x, series.y));
    if (shown_[i].graph != nullptr) shown_[i].graph->setData(data_of<QCPGraphData>(series.x, series.y));
  }
}

void ChartSeries::colour(const reports::Chart& chart, const QPalette& palette) {
  std::map<std::pair<reports::ColourRole, reports::Mark>, size_t>
      seen;  // lines of one colour role are told apart by their dashes
  std::vector<QColor> areas;
  for (size_t i = 0; i < shown_.size(); ++i) {
    const reports::Series& series = chart.series[i];
    const QColor colour = colour_of(series.colour_role, palette);
    if (shown_[i].bars != nullptr) {
      shown_[i].bars->setPen(Qt::NoPen);
      shown_[i].bars->setBrush(colour);
    } else if (series.mark == reports::Mark::area) {
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
