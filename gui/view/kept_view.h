#pragma once

#include <QWidget>
#include <vector>

#include "gui/view/page.h"
#include "reports/figures/passes.h"

namespace headroom::gui {

/// Kept tensors against passes, a bar for each from the pass that writes it to the last that reads
/// it, coloured by where it lives; dots where it is read. A click or the arrow keys choose one.
class KeptView : public QWidget {
  Q_OBJECT
 public:
  explicit KeptView(QWidget* parent = nullptr);
  void setSpans(std::vector<reports::KeptSpan> spans, int passes);
  const std::vector<reports::KeptSpan>& spans() const { return spans_; }
  /// The row that is chosen; -1: none.
  int chosen() const { return chosen_; }
  Export exporter(const QString& name);

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 public Q_SLOTS:
  void choose(int row);
  /// The pass that stands out; -1: none.
  void setPass(int pass);

 Q_SIGNALS:
  void tensorChosen(int row);
  void passChosen(int pass);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;  ///< tooltips

 private:
  int rowHeight() const;
  int namesWidth() const;
  double columnWidth() const;
  double left(int pass) const;
  int rowAt(double y) const;
  int passAt(double x) const;
  QString describe(const reports::KeptSpan& span) const;
  void drawColumns(QPainter& painter) const;
  void drawRow(QPainter& painter, int row) const;
  void drawLegend(QPainter& painter) const;

  std::vector<reports::KeptSpan> spans_;
  int passes_ = 0, chosen_ = -1, pass_ = -1;
};

}  // namespace headroom::gui
