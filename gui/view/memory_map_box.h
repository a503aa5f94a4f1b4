#pragma once

#include <QWidget>
#include <memory>

#include "gui/model/job.h"
#include "gui/model/workspace.h"
#include "gui/view/chart_layers.h"
#include "gui/view/page.h"
#include "reports/figures/memory_map.h"

class QLabel;
class QStackedWidget;

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

class ChartView;
class Legend;
class TableView;

/// Memory map of a recorded decode over time, and a table of its contents at one moment.
class MemoryMapBox : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryMapBox(QWidget* parent = nullptr);
  /// For null, or a trace without places, shows a text that says why there is no map.
  void setTrace(const reports::DocumentPtr& trace);
  bool busy() const { return job_.busy(); }
  std::vector<Export> exports() const;

  ChartView* chart() { return chart_; }
  MapLayer* layer() { return layer_; }
  QString textOf(const reports::MapPlace& place) const;
  TableView* places() { return places_; }
  const std::shared_ptr<const reports::MemoryMap>& map() const { return map_; }

 public Q_SLOTS:
  /// Moves the cursor to the first moment with the most live bytes.
  void goToPeak();

 Q_SIGNALS:
  void busyChanged();
  void message(const QString& text);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;  ///< tooltips

 private:
  QWidget* buildViews();
  void showMap(std::shared_ptr<const reports::MemoryMap> map);
  void showMoment(double seconds);

  reports::DocumentPtr trace_;
  std::shared_ptr<const reports::MemoryMap> map_;
  QStackedWidget* stack_;
  QLabel *nothing_, *heading_, *caption_;
  Legend* legend_;
  ChartView* chart_;
  MapLayer* layer_;
  TableView* places_;
  Job job_;
};

}  // namespace headroom::gui
