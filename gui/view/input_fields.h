#pragma once

#include <QLabel>
#include <QString>
#include <QTimer>
#include <QWidget>
#include <cstdint>
#include <functional>
#include <optional>

#include "gui/model/workspace.h"

class QWidget;

namespace headroom::gui {

/// Error line below a field; hidden if empty.
class InputNote : public QLabel {
  Q_OBJECT
 public:
  explicit InputNote(QWidget* parent = nullptr);
  void say(const QString& text);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void colour();
};

/// A field with a button that opens a dialog, as one widget. The field takes the focus. `caption` is the
/// dialog's title and the button's name for screen readers.
QWidget* with_chooser(QWidget* field, const QString& tooltip, const QString& caption,
                      const std::function<void()>& choose);

}  // namespace headroom::gui

class QLineEdit;
class QSlider;

namespace headroom::gui {

/// Delay between the last key press and the new question.
constexpr int kTypingMilliseconds = 500;

/// The shortest text that parse_bytes() reads as exactly this many: "1.25GiB", "300MiB", "1000001".
QString bytes_text(int64_t bytes);
/// Parses the bytes in a field. 0 if it is empty. Throws InputError naming the option.
int64_t bytes_in(const QLineEdit& field, const char* option);
/// Writes bytes into a field. Keeps the typed text if it means the same number.
void show_bytes(QLineEdit& field, int64_t bytes);

/// The question's limit as a text and a slider. All pages with this field share the limit.
class LimitField : public QWidget {
  Q_OBJECT
 public:
  explicit LimitField(Workspace& workspace, QWidget* parent = nullptr);
  /// Sets the range of the slider.
  void setRange(int64_t least_bytes, int64_t most_bytes);
  /// Call while the limit is dragged. Asks the workspace at most every 50 ms. The limit is rounded so that
  /// its text is short.
  void drag(double bytes);
  QLineEdit* field() { return field_; }
  QSlider* slider() { return slider_; }

 public Q_SLOTS:
  void setLimit(qint64 bytes);

 private:
  void showLimit();
  void readField();
  void moveSlider();
  int64_t atSlider(int position) const;

  Workspace& workspace_;
  QLineEdit* field_;
  QSlider* slider_;
  InputNote* note_;
  QTimer typing_{this}, dragging_{this};
  std::optional<double> dragged_;  ///< dragged limit that has not been asked yet
  int64_t least_ = int64_t{64} << 20, most_ = int64_t{8} << 30;
};

}  // namespace headroom::gui
