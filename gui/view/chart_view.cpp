#include "gui/view/chart_view.h"

#include <qcustomplot.h>

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMetaMethod>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "gui/model/figure_text.h"
#include "gui/view/chart_layers.h"
#include "gui/view/chart_series.h"
#include "gui/view/colours.h"
#include "gui/view/kind_words.h"
#include "gui/view/legend.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

const QString kBandsLayer = QStringLiteral("bands"), kMarksLayer = QStringLiteral("marks"),
              kCursorLayer = QStringLiteral("cursor");

const QSize kBesideAxes(100, 70);  // approximate pixels for labels and heading

void add_layers(QCustomPlot& plot) {
  plot.addLayer(kBandsLayer, plot.layer(QStringLiteral("grid")), QCustomPlot::limBelow);
  plot.addLayer(kMarksLayer, plot.layer(QStringLiteral("axes")), QCustomPlot::limAbove);
  plot.addLayer(kCursorLayer, plot.layer(QStringLiteral("overlay")), QCustomPlot::limAbove);
  plot.layer(kCursorLayer)->setMode(QCPLayer::lmBuffered);
}

void set_axis(QCPAxis& axis, const reports::ChartAxis& shown) {
  axis.setLabel(figure_text(shown.title));
  axis.setScaleType(shown.logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  axis.setTicker(ticker_of(shown));
}

void colour_axis(QCPAxis& axis, const QPalette& palette, const QFont& font) {
  const QColor text = palette.color(QPalette::Text);
  QColor line = text, grid = text;
  line.setAlpha(140);
  grid.setAlpha(40);
  axis.setBasePen(QPen(line));
  axis.setTickPen(QPen(line));
  axis.setSubTickPen(QPen(line));
  axis.setTickLabelColor(text);
  axis.setLabelColor(text);
  axis.setTickLabelFont(font);
  axis.setLabelFont(font);
  axis.grid()->setPen(QPen(grid, 1, Qt::DotLine));
  axis.grid()->setZeroLinePen(Qt::NoPen);
}

/// Value of a series at x: the last value up to x if values are held, otherwise the nearest one. Empty if the
/// series starts after x.
std::optional<double> value_at(const reports::Series& series, double x) {
  const size_t count = std::min(series.x.size(), series.y.size());
  if (count == 0 || x < series.x.front()) return {};
  const auto after = std::upper_bound(series.x.begin(), series.x.begin() + std::ptrdiff_t(count), x);
  auto at = static_cast<size_t>(after - series.x.begin());
  if (at > 0) --at;
  const bool held = series.mark == reports::Mark::area || series.mark == reports::Mark::steps;
  if (!held && at + 1 < count && series.x[at + 1] - x < x - series.x[at]) ++at;
  return series.y[at];
}

QCPRange range_of(const reports::Range& range) {
  return {range.least, range.most};
}

LegendEntry legend_entry(const std::string& name, reports::Mark mark, reports::ColourRole role) {
  const std::optional<MemoryKind> kind = KindWords::kindOf(name);
  return {kind ? KindWords::name(*kind) : figure_text(name),
          [mark, role](QPainter& painter, const QRectF& swatch, const QPalette& palette) {
            const QColor colour = colour_of(role, palette);
            painter.setPen(Qt::NoPen);
            painter.setBrush(colour);
            if (mark == reports::Mark::area) {
              painter.drawRect(swatch);
            } else if (mark == reports::Mark::points) {
              painter.drawEllipse(swatch.center(), 4, 4);
            } else {
              painter.drawRect(QRectF(swatch.left(), swatch.center().y() - 1, swatch.width(), 3));
            }
          },
          kind ? KindWords::explanation(*kind) : QString()};
}

/// The visible range, moved and cut so that nothing beyond the chart is shown.
QCPRange within(const QCPRange& all, QCPRange range, bool logarithmic) {
  if (range.size() >= all.size()) return all;
  if (logarithmic) {
    range = QCPRange(std::max(range.lower, all.lower), std::min(range.upper, all.upper));
    return range.lower < range.upper ? range : all;
  }
  // A smaller range would exceed the precision of double.
  const double size = std::max(range.size(), all.size() * 1e-7);
  if (range.lower < all.lower) range.lower = all.lower;
  if (range.lower + size > all.upper) range.lower = all.upper - size;
  return {range.lower, std::min(range.lower + size, all.upper)};
}

}  // namespace

ChartView::ChartView(QWidget* parent)
    : QWidget(parent), plot_(new QCustomPlot(this)), title_(new PlainLabel(this)), legend_(new Legend(this)) {
  series_ = std::make_unique<ChartSeries>(*plot_);
  QFont bold = title_->font();
  bold.setBold(true);
  title_->setFont(bold);
  title_->setMinimumWidth(1);  // long titles are cut
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(1, 1, 1, 1);
  layout->setSpacing(0);
  auto* head = new QHBoxLayout;
  head->setContentsMargins(8, 3, 8, 0);
  head->setSpacing(32);
  head->addWidget(title_, 0, Qt::AlignTop);
  head->addWidget(legend_, 1);
  layout->addLayout(head);
  layout->addWidget(plot_, 1);
  setFocusPolicy(Qt::StrongFocus);
  plot_->setFocusPolicy(Qt::ClickFocus);
  plot_->setFocusProxy(this);
  plot_->installEventFilter(this);
  plot_->setMouseTracking(true);
  plot_->setAutoAddPlottableToLegend(false);
  plot_->setNoAntialiasingOnDrag(true);
  plot_->setPlottingHint(QCP::phFastPolylines);
  plot_->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
  plot_->axisRect()->setRangeDrag(Qt::Horizontal);
  plot_->axisRect()->setRangeZoom(Qt::Horizontal);
  add_layers(*plot_);
  bands_ = new ChartBands(plot_, kBandsLayer);
  foot_ = new ChartFoot(plot_, kMarksLayer);
  marks_ = new ChartMarks(plot_, kMarksLayer);
  cursor_ = new ChartCursor(plot_, kCursorLayer);
  cursor_->marks = marks_;
  plot_->axisRect()->setMinimumMargins(QMargins(4, 8, 14, 4));
  plot_->setMinimumSize(80, 60);  // a plot without a size cannot be drawn
  connect(plot_->xAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, &ChartView::rangeMoved);
  connect(plot_, &QCustomPlot::beforeReplot, this, &ChartView::beforeDrawing);
  connectMouse();
  setAccessibleName(tr("Chart"));
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  colour();
}

ChartView::~ChartView() = default;

void ChartView::setChart(const reports::Chart& chart, bool keep_range) {
  source_ = nullptr;
  stale_ = false;
  chart_ = chart;
  extent_ = reports::ranges_of(chart_);
  draw();
  plot_->yAxis->setRange(range_of(extent_.y));
  if (keep_range) {
    rangeMoved(plot_->xAxis->range());
  } else {
    plot_->xAxis->setRange(range_of(extent_.x));
  }
}

void ChartView::setSource(double begin, double end,
                          std::function<reports::Chart(double, double, size_t)> source) {
  source_ = nullptr;  // setting the axes must not request the source
  asked_columns_ = columns();
  chart_ = source(begin, end, asked_columns_);
  extent_ = reports::ranges_of(chart_);  // y range of all data, because a column shows its highest moment
  extent_.x = {begin, std::max(end, begin + 1e-9)};
  draw();
  plot_->yAxis->setRange(range_of(extent_.y));
  plot_->xAxis->setRange(range_of(extent_.x));
  source_ = std::move(source);
}

void ChartView::beforeDrawing() {
  // Sets the number of ticks that fit. The plot's size is used, because the axis rectangle is still that of
  // the previous drawing.
  const QSize area = plot_->size() - kBesideAxes;
  plot_->xAxis->ticker()->setTickCount(std::clamp(area.width() / 105, 2, 12));
  plot_->yAxis->ticker()->setTickCount(std::clamp(area.height() / 36, 2, 8));
  // Columns depend on the width. The plot may be drawn before it gets the resize event.
  if (!source_ || (!stale_ && columns() == asked_columns_)) return;
  stale_ = false;
  asked_columns_ = columns();
  const QCPRange range = plot_->xAxis->range();
  chart_ = source_(range.lower, range.upper, asked_columns_);
  series_->show(chart_);
  series_->colour(chart_, palette());
  bands_->show(chart_.spans);
  foot_->show(chart_.strip);
  marks_->show(chart_);
}

void ChartView::draw() {
  set_axis(*plot_->xAxis, chart_.x);
  set_axis(*plot_->yAxis, chart_.y);
  series_->show(chart_);
  bands_->show(chart_.spans);
  foot_->show(chart_.strip);
  marks_->show(chart_);
  showHead();
  colour();
}

/// Shows title and legend outside the plot, so that they cover no data.
void ChartView::showHead() {
  title_->setText(figure_text(chart_.title));
  title_->setVisible(!chart_.title.empty());
  setAccessibleDescription(title_->text());
  std::vector<LegendEntry> entries;
  // A single series needs no legend. Series that look alike are named by notes.
  const bool alike =
      std::all_of(chart_.series.begin(), chart_.series.end(), [&](const reports::Series& series) {
        return series.colour_role == chart_.series.front().colour_role &&
               series.mark == chart_.series.front().mark;
      });
  for (const reports::Series& series : chart_.series) {
    if (!alike && !series.name.empty())
      entries.push_back(legend_entry(series.name, series.mark, series.colour_role));
  }
  if (chart_.strip)
    entries.push_back(legend_entry(chart_.strip->name, reports::Mark::area, chart_.strip->colour_role));
  legend_->setVisible(!entries.empty());
  legend_->setEntries(std::move(entries));
}

void ChartView::colour() {
  const QPalette colours = palette();
  plot_->setBackground(QBrush(colours.color(QPalette::Base)));
  colour_axis(*plot_->xAxis, colours, font());
  colour_axis(*plot_->yAxis, colours, font());
  series_->colour(chart_, colours);
  for (ChartLayer* layer : {static_cast<ChartLayer*>(bands_), static_cast<ChartLayer*>(foot_),
                            static_cast<ChartLayer*>(marks_), static_cast<ChartLayer*>(cursor_)})
    layer->setLook(colours, font());
  plot_->replot(QCustomPlot::rpQueuedReplot);
}

void ChartView::rangeMoved(const QCPRange& range) {
  const QCPRange kept = within(range_of(extent_.x), range, chart_.x.logarithmic);
  if (kept.lower != range.lower || kept.upper != range.upper) {
    const QSignalBlocker quiet(plot_->xAxis);
    plot_->xAxis->setRange(kept);
  }
  stale_ = true;
  plot_->replot(QCustomPlot::rpQueuedReplot);
  Q_EMIT rangeChanged(kept.lower, kept.upper);
}

std::pair<double, double> ChartView::visibleRange() const {
  const QCPRange range = plot_->xAxis->range();
  return {range.lower, range.upper};
}

void ChartView::setVisibleRange(double begin, double end) {
  plot_->xAxis->setRange(begin, end);
}

size_t ChartView::columns() const {
  const QMargins margins = plot_->axisRect()->margins();
  const double across = plot_->width() - margins.left() - margins.right();
  return static_cast<size_t>(std::max(across * plot_->devicePixelRatioF(), 64.0));
}

double ChartView::columnWidth() const {
  return plot_->xAxis->range().size() / double(columns());
}

void to_one_height(const std::vector<ChartView*>& charts) {
  double highest = 0;
  for (ChartView* chart : charts) highest = std::max(highest, chart->plot()->yAxis->range().upper);
  for (ChartView* chart : charts) {
    chart->plot()->yAxis->setRangeUpper(highest);
    chart->plot()->replot(QCustomPlot::rpQueuedReplot);
  }
}

QString ChartView::textAt(double x) const {
  QStringList lines;
  for (const reports::Span& span : chart_.spans) {
    if (span.begin <= x && x < span.end) lines << figure_text(span.name);
  }
  lines << tick_text(chart_.x.unit, x, columnWidth());
  for (const reports::Series& series : chart_.series) {
    const std::optional<double> y = value_at(series, x);
    if (!y) continue;
    const QString value = figure_text(chart_.y.unit, *y);
    lines << (series.name.empty() ? value : tr("%1: %2").arg(figure_text(series.name), value));
  }
  return lines.join(QLatin1Char('\n'));
}

void ChartView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
      event->type() == QEvent::StyleChange)
    colour();
}

void ChartView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  stale_ = true;  // columns depend on the width
}

void ChartView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setPen(palette().color(hasFocus() ? QPalette::Highlight : QPalette::Mid));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void ChartView::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  update();
}

void ChartView::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  update();
}

}  // namespace headroom::gui
