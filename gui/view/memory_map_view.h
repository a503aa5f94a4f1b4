#pragma once

#include <QWidget>
#include <memory>
#include <optional>

#include "reports/figures/memory_map.h"

namespace headroom::gui {

/// Where everything lies in a reservation: time across, offsets up, coloured by kind; what is left pale is
/// free. The wheel zooms the time, dragging pans, a double click shows all; a click or the arrow keys choose
/// a moment.
class MemoryMapView : public QWidget {
  Q_OBJECT
 public:
  explicit MemoryMapView(QWidget* parent = nullptr);
  /// Null clears it.
  void setMap(std::shared_ptr<const reports::MemoryMap> map);
  double moment() const { return moment_; }
  std::pair<double, double> range() const { return {begin_, end_}; }
  /// The place at a point of the widget; null where nothing lies there.
  const reports::MapPlace* placeAt(const QPointF& point) const;
  QRectF rectOf(const reports::MapPlace& place) const;
  QString textOf(const reports::MapPlace& place) const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 public Q_SLOTS:
  void setMoment(double seconds);
  void setRange(double begin, double end);

 Q_SIGNALS:
  void momentChanged(double seconds);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;  ///< tooltips

 private:
  QRectF area() const;
  double secondsAt(double x) const;
  double across(double seconds) const;
  double up(int64_t offset) const;
  int64_t most() const;
  void drawAxes(QPainter& painter) const;
  void drawPlaces(QPainter& painter) const;
  std::shared_ptr<const reports::MemoryMap> map_;
  double begin_ = 0, end_ = 1, moment_ = 0;
  std::optional<QPointF> pressed_;
  std::pair<double, double> pressed_range_;
  bool dragged_ = false;
};

}  // namespace headroom::gui
