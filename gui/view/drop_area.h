#pragma once

#include <QFrame>
#include <QStringList>

class QMimeData;

namespace headroom::gui {

/// The local files that a drag carries.
QStringList local_files(const QMimeData& data);

/// A framed place with a hint for dropped files. Its frame stands out while files hover over it.
class DropArea : public QFrame {
  Q_OBJECT
 public:
  explicit DropArea(QWidget* parent = nullptr);

 Q_SIGNALS:
  void dropped(const QStringList& files);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dragLeaveEvent(QDragLeaveEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void setHovered(bool hovered);
  bool hovered_ = false;
};

}  // namespace headroom::gui
