#pragma once

#include <QWidget>
#include <memory>

#include "reports/figures/decoder_picture.h"

namespace headroom::gui {

/// All passes side by side with what each has on the device at its peak, under the limit. A click chooses
/// one.
class DecoderOverview : public QWidget {
  Q_OBJECT
 public:
  explicit DecoderOverview(QWidget* parent = nullptr);
  void setPicture(std::shared_ptr<const reports::DecoderPicture> picture);
  QRectF rectOfPass(size_t pass) const;

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

 public Q_SLOTS:
  void setPass(int pass);

 Q_SIGNALS:
  void passChosen(int pass);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool event(QEvent* event) override;  ///< tooltips

 private:
  int passAt(const QPointF& point) const;
  int64_t mostBytes() const;
  void drawPass(QPainter& painter, size_t number, double scale) const;
  void drawStages(QPainter& painter) const;
  std::shared_ptr<const reports::DecoderPicture> picture_;
  int pass_ = -1;
};

}  // namespace headroom::gui
