#include "gui/view/drop_area.h"

#include <QDragEnterEvent>
#include <QMimeData>
#include <QPainter>
#include <QUrl>

namespace headroom::gui {

QStringList local_files(const QMimeData& data) {
  QStringList files;
  for (const QUrl& url : data.urls()) {
    if (url.isLocalFile()) files << url.toLocalFile();
  }
  return files;
}

DropArea::DropArea(QWidget* parent) : QFrame(parent) {
  setAcceptDrops(true);
}

void DropArea::setHovered(bool hovered) {
  hovered_ = hovered;
  update();
}

void DropArea::dragEnterEvent(QDragEnterEvent* event) {
  if (local_files(*event->mimeData()).isEmpty()) return;
  event->acceptProposedAction();
  setHovered(true);
}

void DropArea::dragLeaveEvent(QDragLeaveEvent*) {
  setHovered(false);
}

void DropArea::dropEvent(QDropEvent* event) {
  setHovered(false);
  const QStringList files = local_files(*event->mimeData());
  if (files.isEmpty()) return;
  event->acceptProposedAction();
  Q_EMIT dropped(files);
}

void DropArea::paintEvent(QPaintEvent*) {
  constexpr double kRound = 6;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(palette().color(hovered_ ? QPalette::Highlight : QPalette::Mid), hovered_ ? 3 : 1.5,
                      Qt::DashLine));
  painter.drawRoundedRect(QRectF(rect()).adjusted(2, 2, -2, -2), kRound, kRound);
}

}  // namespace headroom::gui
