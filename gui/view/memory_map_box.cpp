#include "gui/view/memory_map_box.h"

#include <qcustomplot.h>

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/colours.h"
#include "gui/view/legend.h"
#include "gui/view/plain_text.h"
#include "gui/view/table_view.h"

namespace headroom::gui {
namespace {

const QString kPlacesLayer = QStringLiteral("places");
constexpr double kOutlined = 4;  ///< smallest side in pixels that gets an outline

}  // namespace

MapLayer::MapLayer(QCustomPlot* plot) : ChartLayer(plot, QString()) {
  plot->addLayer(kPlacesLayer, plot->layer(QStringLiteral("main")), QCustomPlot::limAbove);
  setLayer(kPlacesLayer);
}

QRectF MapLayer::rectOf(const reports::MapPlace& place) const {
  const QCPAxis &x = *mParentPlot->xAxis, &y = *mParentPlot->yAxis;
  return {QPointF(x.coordToPixel(place.begin_seconds), y.coordToPixel(double(place.offset + place.bytes))),
          QPointF(x.coordToPixel(place.end_seconds), y.coordToPixel(double(place.offset)))};
}

const reports::MapPlace* MapLayer::placeAt(const QPointF& position) const {
  if (map_ == nullptr || !QRectF(clipRect()).contains(position)) return nullptr;
  const double seconds = mParentPlot->xAxis->pixelToCoord(position.x()),
               offset = mParentPlot->yAxis->pixelToCoord(position.y());
  for (const reports::MapPlace& place : map_->places) {
    if (place.begin_seconds > seconds) break;
    if (seconds < place.end_seconds && offset >= double(place.offset) &&
        offset < double(place.offset + place.bytes))
      return &place;
  }
  return nullptr;
}

void MapLayer::draw(QCPPainter* painter) {
  if (map_ == nullptr) return;
  const QPalette palette = mParentPlot->palette();
  std::array<QColor, kMemoryKinds> colours;
  for (size_t kind = 0; kind < kMemoryKinds; ++kind)
    colours[kind] = colour_of(reports::colour_role_of(static_cast<MemoryKind>(kind)), palette);
  painter->setAntialiasing(false);
  painter->setFont(mParentPlot->font());
  // Reserved but free memory shows as a faint background.
  const QRectF area = clipRect();
  const double reserved = mParentPlot->yAxis->coordToPixel(double(map_->reserved_bytes));
  QColor slack = colour_of(reports::ColourRole::slack, palette);
  slack.setAlphaF(0.35F);
  painter->fillRect(QRectF(QPointF(area.left(), reserved), area.bottomRight()), slack);
  const QCPRange range = mParentPlot->xAxis->range();
  for (const reports::MapPlace& place : map_->places) {
    if (place.end_seconds > range.lower && place.begin_seconds < range.upper)
      drawPlace(painter, place, colours[static_cast<size_t>(place.kind)]);
  }
}

void MapLayer::drawPlace(QCPPainter* painter, const reports::MapPlace& place, const QColor& colour) const {
  const QRectF rectangle = rectOf(place);
  painter->fillRect(rectangle, colour);
  if (rectangle.width() < kOutlined || rectangle.height() < kOutlined) return;
  QColor outline = mParentPlot->palette().color(QPalette::Base);
  outline.setAlphaF(0.8F);
  painter->setPen(outline);
  painter->setBrush(Qt::NoBrush);
  painter->drawRect(rectangle);
  const QFontMetricsF metrics(mParentPlot->font());
  const QRectF seen = rectangle.intersected(clipRect()).adjusted(4, 1, -4, -1);
  if (seen.height() < metrics.height()) return;
  painter->setPen(ink_on(colour));
  painter->drawText(seen, Qt::AlignCenter, fitting_name(figure_text(place.name), metrics, seen.width()));
}

MemoryMapBox::MemoryMapBox(QWidget* parent)
    : QWidget(parent), stack_(new QStackedWidget(this)), nothing_(new PlainLabel(stack_)) {
  nothing_->setAlignment(Qt::AlignCenter);
  nothing_->setWordWrap(true);
  nothing_->setMargin(40);
  stack_->addWidget(nothing_);
  stack_->addWidget(buildViews());
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins({});
  layout->addWidget(stack_);
  connect(&job_, &Job::busyChanged, this, &MemoryMapBox::busyChanged);
  connect(chart_, &ChartView::cursorMoved, this, &MemoryMapBox::showMoment);
  chart_->plot()->installEventFilter(this);
}

QWidget* MemoryMapBox::buildViews() {
  auto* views = new QWidget(stack_);
  heading_ = new PlainLabel(views);
  heading_->setWordWrap(true);
  legend_ = new Legend(views);
  auto* halves = new QSplitter(Qt::Vertical, views);
  halves->setObjectName(QStringLiteral("memory"));
  halves->setChildrenCollapsible(false);
  chart_ = new ChartView(halves);
  chart_->setPinnable(true);
  layer_ = new MapLayer(chart_->plot());
  auto* below = new QWidget(halves);
  auto* peak = new QPushButton(tr("&Go to the peak"), below);
  connect(peak, &QPushButton::clicked, this, &MemoryMapBox::goToPeak);
  caption_ = new PlainLabel(below);
  caption_->setWordWrap(true);
  auto* row = new QHBoxLayout;
  row->addWidget(peak);
  row->addWidget(caption_, 1);
  places_ = new TableView(below);
  places_->setObjectName(QStringLiteral("memory-places"));
  auto* lower = new QVBoxLayout(below);
  lower->setContentsMargins({});
  lower->addLayout(row);
  lower->addWidget(places_, 1);
  halves->setStretchFactor(0, 3);
  halves->setStretchFactor(1, 2);
  halves->setSizes({440, 260});
  auto* column = new QVBoxLayout(views);
  column->setContentsMargins({});
  column->addWidget(heading_);
  column->addWidget(legend_);
  column->addWidget(halves, 1);
  return views;
}

void MemoryMapBox::setTrace(const reports::DocumentPtr& trace) {
  if (trace == trace_ && trace != nullptr) return;
  trace_ = trace;
  job_.forget();
  map_.reset();
  layer_->show(nullptr);
  stack_->setCurrentIndex(0);
  if (trace == nullptr || trace->as<RecordedTrace>()->trace.places.empty()) {
    nothing_->setText(trace != nullptr
                          ? tr("This trace has no addresses.")
                          : tr("Open a trace to see where everything lay in memory. The page Run "
                               "and headroom-decode --trace record one."));
    return;
  }
  job_.start(
      [trace](const Job::Turn&) {
        return std::make_shared<const reports::MemoryMap>(reports::memory_map(*trace->as<RecordedTrace>()));
      },
      [this](const std::shared_ptr<const reports::MemoryMap>& made) { showMap(made); },
      [this](const QString& fault) {
        nothing_->setText(fault);
        Q_EMIT message(fault);
      });
}

void MemoryMapBox::showMap(std::shared_ptr<const reports::MemoryMap> map) {
  map_ = std::move(map);
  stack_->setCurrentIndex(1);
  layer_->show(map_);
  chart_->setChart(reports::map_chart(*map_));
  const auto bytes = [](int64_t count) { return figure_text(reports::Unit::bytes, double(count)); };
  const QString reserved = bytes(map_->reserved_bytes), live = bytes(map_->live_bytes);
  heading_->setText(
      !map_->gaps_cost_memory
          ? tr("Addresses of %1 were in use; at most %2 of them were live at one time. The gaps are "
               "addresses without memory: the pool returns free pages or gives them to the next tile.")
                .arg(reserved, live)
          : tr("The reservation is %1; at most %2 of it are live at one time. The rest, %3, "
               "is gaps between allocations that are live together.")
                .arg(reserved, live, bytes(map_->reserved_bytes - map_->live_bytes)));
  std::vector<MemoryKind> kinds;
  for (const MemoryKind kind :
       {MemoryKind::weights, MemoryKind::latent, MemoryKind::kept, MemoryKind::tile, MemoryKind::workspace}) {
    if (std::any_of(map_->places.begin(), map_->places.end(),
                    [&](const reports::MapPlace& place) { return place.kind == kind; }))
      kinds.push_back(kind);
  }
  if (map_->gaps_cost_memory) kinds.push_back(MemoryKind::slack);
  legend_->setEntries(kind_entries(kinds));
  goToPeak();
}

void MemoryMapBox::goToPeak() {
  if (map_ == nullptr) return;
  const double seconds = reports::peak_seconds(*map_);
  chart_->setCursor(seconds);
  showMoment(seconds);
}

void MemoryMapBox::showMoment(double seconds) {
  if (map_ == nullptr) return;
  places_->setTable(reports::places_table(*map_, seconds));
  int64_t live = 0;
  for (const reports::MapPlace& place : reports::places_at(*map_, seconds)) live += place.bytes;
  caption_->setText(
      tr("At %1: %2 live. A click holds the cursor, another lets it go; wheel: zoom, drag: pan, "
         "double click: all.")
          .arg(figure_text(reports::Unit::seconds, seconds),
               figure_text(reports::Unit::bytes, double(live))));
}

QString MemoryMapBox::textOf(const reports::MapPlace& place) const {
  const auto bytes = [](int64_t count) { return figure_text(reports::Unit::bytes, double(count)); };
  const auto time = [](double seconds) { return figure_text(reports::Unit::seconds, seconds); };
  QStringList lines{QString::fromStdString(place.name),
                    tr("%1: %2, from %3 on")
                        .arg(figure_text(title_of(place.kind)), bytes(place.bytes), bytes(place.offset)),
                    tr("from %1 to %2").arg(time(place.begin_seconds), time(place.end_seconds))};
  if (place.pass >= 0 && place.pass < std::ssize(map_->passes)) {
    const std::string& name = map_->passes[static_cast<size_t>(place.pass)].name;
    lines << tr("allocated in pass %1, %2").arg(place.pass).arg(figure_text(name));
  }
  return lines.join(QLatin1Char('\n'));
}

bool MemoryMapBox::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::eventFilter(watched, event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const reports::MapPlace* place = layer_->placeAt(help->pos());
  show_tooltip(help->globalPos(), place == nullptr ? QString() : textOf(*place), chart_);
  return true;
}

std::vector<Export> MemoryMapBox::exports() const {
  if (map_ == nullptr) return {};
  return {painting_of(*chart_, tr("Memory map")), places_->exporter(tr("Places"))};
}

}  // namespace headroom::gui
