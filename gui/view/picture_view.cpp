#include "gui/view/picture_view.h"

#include <QFile>
#include <QPainter>

namespace headroom::gui {
namespace {

constexpr qint64 kMostBytes = qint64{8} << 20;  // previews are at most 3 MiB

}  // namespace

PictureView::PictureView(const QString& words, QWidget* parent) : QWidget(parent), words_(words) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

bool PictureView::read(const QString& file) {
  QFile in(file);
  if (!in.open(QIODevice::ReadOnly)) return false;
  const QImage image = QImage::fromData(in.read(kMostBytes), "PPM");
  if (image.isNull()) return false;
  image_ = image;
  update();
  return true;
}

void PictureView::clear() {
  image_ = {};
  update();
}

void PictureView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  if (image_.isNull()) {
    painter.setPen(palette().color(QPalette::PlaceholderText));
    painter.drawText(rect().adjusted(8, 8, -8, -8), Qt::AlignCenter | Qt::TextWordWrap, words_);
    return;
  }
  QRect target(QPoint(), image_.size().scaled(size(), Qt::KeepAspectRatio));
  target.moveCenter(rect().center());
  const bool smaller = target.width() < image_.width();
  painter.setRenderHint(QPainter::SmoothPixmapTransform, smaller);
  painter.drawImage(target, image_);
}

}  // namespace headroom::gui
