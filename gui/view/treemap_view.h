#pragma once

#include <QWidget>

#include "reports/figures/treemap.h"

namespace headroom::gui {

/// What is on the device together as areas, by module, coloured by kind.
class TreemapView : public QWidget {
  Q_OBJECT
 public:
  explicit TreemapView(QWidget* parent = nullptr);
  void setEntries(std::vector<reports::LiveEntry> entries);
  const std::vector<reports::TreemapTile>& tiles() const { return tiles_; }
  /// Of the innermost rectangle at a point; empty where there is none.
  QString textAt(const QPointF& point) const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  bool event(QEvent* event) override;  ///< tooltips

 private:
  void layOut();
  void drawTile(QPainter& painter, const reports::TreemapTile& tile) const;
  std::vector<reports::LiveEntry> entries_;
  std::vector<reports::TreemapTile> tiles_;
};

}  // namespace headroom::gui
