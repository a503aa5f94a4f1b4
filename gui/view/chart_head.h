#pragma once

#include <qcustomplot.h>

#include "reports/figures/chart.h"

namespace headroom::gui {

/// Title and legend above a plot; entries that do not fit a line go to the next. Beside the plot and not in
/// it, so that no data are covered.
class ChartHead final : public QCPLayoutElement {
 public:
  explicit ChartHead(QCustomPlot* plot);
  void show(const reports::Chart& chart, const QPalette& palette, const QFont& font);

  QSize minimumOuterSizeHint() const override;

 protected:
  void draw(QCPPainter* painter) override;
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;

 private:
  struct Entry {
    QString name;
    QColor colour;
    reports::Mark mark{};
    QPointF at;  ///< its left edge and the middle of its line, within the element
  };
  /// Lays entries out in lines of this width; returns the height of all.
  int arrange(int width) const;
  QString title_;
  mutable std::vector<Entry> entries_;
  QColor text_;
  QFont font_, title_font_;
};

}  // namespace headroom::gui
