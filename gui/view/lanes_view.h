#pragma once

#include <QWidget>
#include <vector>

#include "gui/view/page.h"
#include "reports/figures/stream_lanes.h"

namespace headroom::gui {

/// The colour of a pass where passes stand side by side: neighbours differ.
QColor colour_of_pass(int pass, const QPalette& palette);

/// What a GPU's streams did, a lane for each, over the time and between the edges of a chart above it.
/// Kernels are full rectangles, copies half as high, fills a line; the colour is that of the pass.
class LanesView : public QWidget {
  Q_OBJECT
 public:
  explicit LanesView(QWidget* parent = nullptr);
  /// Null, or a trace of no GPU, shows nothing: then it is hidden.
  void setTrace(const reports::DocumentPtr& trace);
  bool empty() const { return trace_ == nullptr; }
  /// The seconds in sight, and where the chart's plot begins and ends in pixels from the left.
  void setRange(double begin, double end);
  void setArea(int left, int right);
  const std::vector<reports::StreamLane>& lanes() const { return lanes_; }
  /// What ran there, a line for each; for tooltips.
  QString textAt(const QPointF& point) const;
  Export exporter(const QString& name);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {120, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;  ///< tooltips

 private:
  void refresh();
  int laneHeight() const;
  double across(double seconds) const;
  const RecordedTrace& trace() const { return *trace_->as<RecordedTrace>(); }
  void drawLane(QPainter& painter, size_t number) const;
  reports::DocumentPtr trace_;
  std::vector<reports::StreamLane> lanes_;
  double begin_ = 0, end_ = 1;
  int left_ = 0, right_ = 100;
};

}  // namespace headroom::gui
