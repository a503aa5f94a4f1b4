#pragma once

#include <memory>

#include "gui/view/chart_layers.h"
#include "reports/figures/memory_map.h"

namespace headroom::gui {

/// The places of a memory map as rectangles over the time and the offsets of a chart.
class MapLayer final : public ChartLayer {
 public:
  explicit MapLayer(QCustomPlot* plot);
  /// Null clears it.
  void show(std::shared_ptr<const reports::MemoryMap> map) { map_ = std::move(map); }
  /// The place at a position on the plot. Null if there is none.
  const reports::MapPlace* placeAt(const QPointF& position) const;
  QRectF rectOf(const reports::MapPlace& place) const;

 protected:
  void draw(QCPPainter* painter) override;

 private:
  void drawPlace(QCPPainter* painter, const reports::MapPlace& place, const QColor& colour) const;
  std::shared_ptr<const reports::MemoryMap> map_;
};

}  // namespace headroom::gui
