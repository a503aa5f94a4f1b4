#pragma once

#include <qcustomplot.h>

#include <optional>
#include <utility>

#include "reports/figures/chart.h"

namespace headroom::gui {

/// Base of our own layers on a plot. Draws inside the axes with the widget's colours.
class ChartLayer : public QCPLayerable {
 public:
  ChartLayer(QCustomPlot* plot, const QString& layer) : QCPLayerable(plot, layer) {}
  void setLook(const QPalette& palette, const QFont& font);

 protected:
  QRect clipRect() const override;
  void applyDefaultAntialiasingHint(QCPPainter* painter) const override;
  /// A text on a background that keeps it readable over areas.
  void label(QCPPainter* painter, const QRectF& place, const QString& text, const QColor& colour) const;

  QPalette palette_;
  QFont font_;
};

/// Passes as bands behind everything else.
class ChartBands final : public ChartLayer {
 public:
  using ChartLayer::ChartLayer;
  void show(const std::vector<reports::Span>& spans) { spans_ = spans; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  std::vector<reports::Span> spans_;
};

/// A strip along the bottom of the plot. Its height in each interval is the interval's share.
class ChartFoot final : public ChartLayer {
 public:
  using ChartLayer::ChartLayer;
  void show(const std::optional<reports::Strip>& strip) { strip_ = strip; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  std::optional<reports::Strip> strip_;
};

/// Guides with their labels, notes, and the names of bands that are wide enough.
class ChartMarks final : public ChartLayer {
 public:
  using ChartLayer::ChartLayer;
  void show(const reports::Chart& chart);
  /// Places of the labels in the last drawing, in pixels of the plot.
  const std::vector<QRectF>& labels() const { return labels_; }

 protected:
  void draw(QCPPainter* painter) override;

 private:
  void drawNames(QCPPainter* painter);
  void drawGuide(QCPPainter* painter, const reports::Guide& guide);
  void drawNote(QCPPainter* painter, const reports::Note& note);
  std::vector<reports::Span> spans_;
  std::vector<reports::Guide> guides_;
  std::vector<reports::Note> notes_;
  std::vector<QRectF> labels_;
};

/// Moving parts of a chart: the cursor and a handle that can be dragged. They have their own buffer, so that
/// moving them redraws nothing else.
class ChartCursor final : public ChartLayer {
 public:
  using ChartLayer::ChartLayer;
  struct Handle {
    double at = 0;
    bool vertical = true;
    QString label;
  };
  const ChartMarks* marks = nullptr;  ///< lines leave out its labels
  std::optional<double> x;
  bool pinned = false;
  std::optional<Handle> handle;
  std::optional<std::pair<double, double>> selected;  ///< range of the x axis
  /// True if a position, in pixels of the plot, is on the handle.
  bool onHandle(const QPointF& position) const;

 protected:
  void draw(QCPPainter* painter) override;

 private:
  void drawLine(QCPPainter* painter, double at, bool vertical) const;
  QRectF grip(double at) const;
};

}  // namespace headroom::gui
