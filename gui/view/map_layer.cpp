#include "gui/view/map_layer.h"

#include <array>

#include "gui/model/figure_text.h"
#include "gui/view/chart_view.h"
#include "gui/view/fitting_name.h"

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

}  // namespace headroom::gui
