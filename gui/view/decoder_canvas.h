#pragma once

#include <QFontMetricsF>
#include <QPointF>
#include <QRectF>
#include <QStringList>
#include <QWidget>
#include <memory>
#include <vector>

#include "reports/figures/decoder_picture.h"

namespace headroom::gui {

/// Layout of a decoder's picture for a given width: a band for each pass, from the latent down.
///
///     | stage | no | nodes, column by column, in lines | kept tensors | memory at the pass's peak | bytes |
struct DecoderLayout {
  std::vector<QRectF> bands;  ///< by pass
  std::vector<QRectF> nodes;
  std::vector<size_t> lines;  ///< by node: its line within the band
  double stage_width = 0, number_width = 0;
  double nodes_left = 0, nodes_right = 0;
  double kept_left = 0, lane_width = 0;
  double bars_left = 0, bars_right = 0, bytes_right = 0;
  double height = 0;

  /// The pass and the node at a point; -1 for none.
  int pass_at(const QPointF& point) const;
  int node_at(const QPointF& point) const;
};

/// `labels` are the texts on the nodes.
DecoderLayout decoder_layout(const reports::DecoderPicture& picture, const QStringList& labels,
                             const QFontMetricsF& metrics, double width);

/// Draws a decoder pass by pass: operations, kept tensors and their lifetimes, memory at each pass's peak. A
/// click or the arrow keys choose a pass or an operation. A double click or Enter opens it. Ctrl with the
/// wheel, + and - zoom.
class DecoderCanvas : public QWidget {
  Q_OBJECT
 public:
  explicit DecoderCanvas(QWidget* parent = nullptr);

  /// `plan` is the plan that the picture shows; null clears it.
  void setPicture(std::shared_ptr<const reports::DecoderPicture> picture, reports::DocumentPtr plan);
  int pass() const { return pass_; }
  /// Index of the chosen node among all nodes of the picture; -1 if a whole pass is chosen.
  int node() const { return node_; }
  QRect rectOfPass(int pass) const;
  QRect rectOfNode(int node) const;
  /// Descriptions for panels and tooltips, one fact a line.
  QString describePass(int pass) const;
  QString describeNode(int node) const;
  /// Description of the item at a point: a node, a kept tensor's bar or a pass.
  QString textAt(const QPointF& point) const;
  /// Left edge of the bars of kept tensors.
  double keptLeft() const { return layout_.kept_left; }
  double laneWidth() const { return layout_.lane_width; }

  QSize minimumSizeHint() const override;

 public Q_SLOTS:
  void choose(int pass, int node);
  void zoom(double factor);

 Q_SIGNALS:
  void chosen(int pass, int node);
  void opened(int pass, int node);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;  ///< tooltips

 private:
  const reports::PlanDocument& plan() const { return *plan_->as<reports::PlanDocument>(); }
  QString describeKept(const reports::DrawnKept& kept) const;
  void layOut();
  void chooseBeside(int step);
  void drawBand(QPainter& painter, size_t pass) const;
  void drawStage(QPainter& painter, size_t pass) const;
  void drawEdge(QPainter& painter, const reports::DrawnEdge& edge) const;
  void drawNode(QPainter& painter, size_t number) const;
  void drawBar(QPainter& painter, size_t pass) const;
  void drawKept(QPainter& painter, const reports::DrawnKept& kept) const;

  std::shared_ptr<const reports::DecoderPicture> picture_;
  reports::DocumentPtr plan_;
  QStringList labels_;
  DecoderLayout layout_;
  int pass_ = -1, node_ = -1;
};

}  // namespace headroom::gui
