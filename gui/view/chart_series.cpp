#include "gui/view/chart_series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "gui/model/figure_text.h"
#include "gui/view/colours.h"
#include "reports/figures/chart.h"

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

namespace {

/// Ticks as in the reports.
class UnitTicker final : public QCPAxisTicker {
 public:
  UnitTicker(reports::Unit unit, bool logarithmic) : unit_(unit), logarithmic_(logarithmic) {}

 protected:
  double getTickStep(const QCPRange&) override { return 1; }  // unused: createTickVector() places the ticks
  int getSubTickCount(double) override { return 0; }
  QVector<double> createTickVector(double, const QCPRange& range) override {
    ticks_.clear();
    if (std::isfinite(range.size()) && range.size() > 0 && (!logarithmic_ || range.lower > 0))
      ticks_ = reports::ticks(unit_, {range.lower, range.upper}, logarithmic_, size_t(tickCount()));
    QVector<double> places;
    for (const reports::Tick& tick : ticks_) places << tick.at;
    return places;
  }
  QString getTickLabel(double at, const QLocale&, QChar, int) override {
    const auto tick =
        std::find_if(ticks_.begin(), ticks_.end(), [&](const reports::Tick& one) { return one.at == at; });
    return tick == ticks_.end() ? QString() : QString::fromStdString(tick->label);
  }

 private:
  reports::Unit unit_;
  bool logarithmic_;
  std::vector<reports::Tick> ticks_;
};

}  // namespace

QSharedPointer<QCPAxisTicker> ticker_of(const reports::ChartAxis& axis) {
  return QSharedPointer<QCPAxisTicker>(new UnitTicker(axis.unit, axis.logarithmic));
}

QString tick_text(reports::Unit unit, double value, double step) {
  const QString text = figure_text(unit, value);
  if (text != figure_text(unit, value + step) && text != figure_text(unit, value - step)) return text;
  return QString::fromStdString(reports::fine_label(unit, value, step));
}

}  // namespace headroom::gui
