#pragma once

#include <QWidget>
#include <functional>
#include <vector>

#include "reports/figures/timeline.h"

namespace headroom::gui {

/// Meaning of one mark in a drawing, with a function that draws the mark.
struct LegendEntry {
  QString text;
  std::function<void(QPainter& painter, const QRectF& swatch, const QPalette& palette)> draw;
  QString explanation{};  ///< tooltip; empty: none
};
LegendEntry colour_entry(const QString& text, const std::function<QColor(const QPalette&)>& colour);
/// Legend entries for these kinds of memory, with the names and colours of timelines.
std::vector<LegendEntry> kind_entries(const std::vector<MemoryKind>& kinds);

/// Marks with their names, wrapped into as many lines as needed.
class Legend : public QWidget {
  Q_OBJECT
 public:
  explicit Legend(QWidget* parent = nullptr);
  void setEntries(std::vector<LegendEntry> entries);
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {120, heightForWidth(std::max(width(), 120))}; }
  /// Explanation of the entry at a position. Empty if there is none.
  QString explanationAt(const QPoint& position) const;

 protected:
  bool event(QEvent* event) override;  ///< tooltips
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  std::vector<QPoint> places(int width) const;
  std::vector<LegendEntry> entries_;
};

}  // namespace headroom::gui
