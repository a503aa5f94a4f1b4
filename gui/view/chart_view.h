#pragma once

#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "reports/figures/chart.h"

class QCustomPlot;
class QLabel;
class QCPRange;

namespace headroom::gui {

class ChartBands;
class ChartCursor;
class ChartFoot;
class ChartMarks;
class ChartSeries;
class Legend;

/// Draws a Chart with QCustomPlot. The wheel zooms the x axis, dragging pans, and a double click shows all. A
/// cursor line follows the mouse if cursorMoved() is connected.
///
/// With the keyboard: arrows move the cursor (with Shift further), Home and End go to the ends, + and - zoom,
/// 0 shows all, Page Up and Page Down pan, Ctrl with arrows moves the handle, Escape clears the selection.
class ChartView : public QWidget {
  Q_OBJECT
 public:
  explicit ChartView(QWidget* parent = nullptr);
  ~ChartView() override;

  /// Replaces what is drawn. With `keep_range` the visible range stays.
  void setChart(const reports::Chart& chart, bool keep_range = false);
  const reports::Chart& chart() const { return chart_; }
  /// Draws a chart that depends on the visible range. The chart is requested again whenever the range or the
  /// width in pixels changes. So a million moments are drawn as some thousand columns.
  void setSource(double begin, double end,
                 std::function<reports::Chart(double begin, double end, size_t columns)> source);
  /// Adds a handle that can be dragged along the x or y axis, for a limit. Its position is in the chart's
  /// units.
  void setHandle(double at, bool vertical, const QString& label);
  void clearHandle();
  double handle() const;
  void setCursor(std::optional<double> x);
  std::optional<double> cursor() const;
  /// If set, a click pins the cursor until the next click.
  void setPinnable(bool pinnable) { pinnable_ = pinnable; }
  bool pinned() const;
  void setPinned(bool pinned);
  /// If set, dragging with Shift selects a range of the x axis. A click with Shift, or Escape, clears it.
  void setSelectable(bool selectable) { selectable_ = selectable; }
  /// The selected range, begin before end. Unset: none.
  std::optional<std::pair<double, double>> selection() const;
  void setSelection(std::optional<std::pair<double, double>> range);
  QCustomPlot* plot() { return plot_; }
  std::pair<double, double> visibleRange() const;
  void setVisibleRange(double begin, double end);
  /// Width of one pixel column in units of the x axis.
  double columnWidth() const;
  /// Values at x, one line per series, for tooltips and screen readers.
  QString textAt(double x) const;

  QSize sizeHint() const override { return {480, 260}; }
  QSize minimumSizeHint() const override { return {240, 120}; }

 Q_SIGNALS:
  void cursorMoved(double x);  ///< the mouse moved over the chart, or an arrow key moved the cursor
  void pinnedChanged(bool pinned);
  void handleMoved(double at);  ///< while it is dragged
  void handleReleased(double at);
  void rangeChanged(double begin, double end);
  void selectionChanged();  ///< the user selected a range, or cleared it

 protected:
  void changeEvent(QEvent* event) override;  ///< palette: redraws
  void resizeEvent(QResizeEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void paintEvent(QPaintEvent* event) override;  ///< the frame that shows the keyboard's focus
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void draw();
  void colour();
  void showHead();
  void beforeDrawing();
  void connectMouse();
  void rangeMoved(const QCPRange& range);
  void zoom(double factor);
  void moveCursorTo(double x);
  bool moveCursorBy(int steps);
  void moveHandleTo(double at);
  void select(int to_pixel, bool ends);
  void redrawCursor();
  bool cursorIsOfUse() const;
  size_t columns() const;
  QCustomPlot* plot_;
  std::unique_ptr<ChartSeries> series_;
  reports::ChartRanges extent_;  ///< of the whole chart
  ChartBands* bands_;
  ChartFoot* foot_;
  ChartMarks* marks_;
  ChartCursor* cursor_;
  QLabel* title_;
  Legend* legend_;
  reports::Chart chart_;
  std::function<reports::Chart(double, double, size_t)> source_;
  bool stale_ = false;  ///< the chart must be requested from the source before the next drawing
  size_t asked_columns_ = 0;
  bool pinnable_ = false, dragging_ = false, selectable_ = false, selecting_ = false;
  QPoint pressed_at_;
};

/// Gives all charts the y range of the one that reaches highest.
void to_one_height(const std::vector<ChartView*>& charts);

}  // namespace headroom::gui
