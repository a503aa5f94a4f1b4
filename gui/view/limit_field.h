#pragma once

#include <QTimer>
#include <QWidget>
#include <cstdint>
#include <optional>

#include "gui/model/workspace.h"

class QLineEdit;
class QSlider;

namespace headroom::gui {

/// From the last key to asking for what was typed.
constexpr int kTypingMilliseconds = 500;

class InputNote;

/// The shortest text that parse_bytes() reads as exactly this many: "1.25GiB", "300MiB", "1000001".
QString bytes_text(int64_t bytes);
/// Bytes in a field that may be empty: 0 then. Throws InputError naming the option.
int64_t bytes_in(const QLineEdit& field, const char* option);
/// Writes them there; a text that says the same stays as it was typed.
void show_bytes(QLineEdit& field, int64_t bytes);

/// The limit of the question as a text and as a slider, both seen and changed on every page that has one.
class LimitField : public QWidget {
  Q_OBJECT
 public:
  explicit LimitField(Workspace& workspace, QWidget* parent = nullptr);
  /// Sets the range of the slider.
  void setRange(int64_t least_bytes, int64_t most_bytes);
  /// The limit is being dragged: asked at most every 50 ms, rounded so that its text is short.
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
  QTimer typing_, dragging_;
  std::optional<double> dragged_;  ///< waits for the next turn
  int64_t least_ = int64_t{64} << 20, most_ = int64_t{8} << 30;
};

}  // namespace headroom::gui
