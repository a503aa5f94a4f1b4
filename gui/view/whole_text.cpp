#include "gui/view/whole_text.h"
#include "gui/model/plain_tooltip.h"

#include <QComboBox>
#include <QEvent>
#include <QLineEdit>
#include <QStyle>
#include <QStyleOptionComboBox>

namespace headroom::gui {
namespace {

/// What the field holds, and the width that it has for it.
struct Held {
  QString text;
  int width = 0;
};

Held held_by(const QWidget& field) {
  constexpr int kTextMargins = 2 * 4;  // that a line of text keeps from its frame
  if (const auto* line = qobject_cast<const QLineEdit*>(&field))
    return {line->text(), line->contentsRect().width() - kTextMargins};
  const auto* box = qobject_cast<const QComboBox*>(&field);
  if (box == nullptr) return {};
  QStyleOptionComboBox option;
  option.initFrom(box);
  option.editable = box->isEditable();
  const QRect edit =
      box->style()->subControlRect(QStyle::CC_ComboBox, &option, QStyle::SC_ComboBoxEditField, box);
  return {box->currentText(), edit.width() - kTextMargins};
}

/// Asked anew whenever the tooltip is about to be shown: texts and widths change.
class WholeTextFilter final : public QObject {
 public:
  WholeTextFilter(QWidget* field, QString explanation)
      : QObject(field), field_(field), explanation_(std::move(explanation)) {
    field->installEventFilter(this);
    field->setToolTip(explanation_);
  }

 private:
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::ToolTip) {
      const Held held = held_by(*field_);
      const bool cut = field_->fontMetrics().horizontalAdvance(held.text) > held.width;
      field_->setToolTip(plain_tooltip(cut ? held.text + QLatin1Char('\n') + explanation_ : explanation_));
    }
    return QObject::eventFilter(watched, event);
  }

  QWidget* field_;
  QString explanation_;
};

}  // namespace

void explain_input(QWidget* field, const QString& explanation) {
  new WholeTextFilter(field, explanation);  // the field owns it
}

}  // namespace headroom::gui
