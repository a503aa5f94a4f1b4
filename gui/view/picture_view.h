#pragma once

#include <QImage>
#include <QWidget>

namespace headroom::gui {

/// Shows a picture as large as fits, or a text until there is one.
class PictureView : public QWidget {
  Q_OBJECT
 public:
  explicit PictureView(const QString& words, QWidget* parent = nullptr);
  /// Reads the file again. If reading fails, returns false and keeps the shown picture.
  bool read(const QString& file);
  void clear();
  const QImage& image() const { return image_; }
  QSize sizeHint() const override { return {320, 320}; }
  QSize minimumSizeHint() const override { return {120, 120}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString words_;
  QImage image_;
};

}  // namespace headroom::gui
