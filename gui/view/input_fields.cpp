#include "gui/view/input_fields.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QStyle>
#include <QToolButton>
#include <algorithm>
#include <bit>
#include <cmath>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "gui/view/colours.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {

InputNote::InputNote(QWidget* parent) : QLabel(parent) {
  setWordWrap(true);
  setTextFormat(Qt::PlainText);
  colour();
  hide();
}

void InputNote::say(const QString& text) {
  setText(text);
  setVisible(!text.isEmpty());
}

void InputNote::changeEvent(QEvent* event) {
  QLabel::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::ParentChange) colour();
}

void InputNote::colour() {
  const QPalette around = parentWidget() != nullptr ? parentWidget()->palette() : QPalette();
  const QColor wanted = colour_of(reports::ColourRole::limit, around);
  if (palette().color(QPalette::WindowText) == wanted) return;
  QPalette own;
  own.setColor(QPalette::WindowText, wanted);
  setPalette(own);
}

QWidget* with_chooser(QWidget* field, const QString& tooltip, const QString& caption,
                      const std::function<void()>& choose) {
  auto* editor = new QWidget(field->parentWidget());
  auto* row = new QHBoxLayout(editor);
  row->setContentsMargins({});
  row->addWidget(field, 1);
  auto* button = new QToolButton(editor);
  button->setIcon(editor->style()->standardIcon(QStyle::SP_DirOpenIcon));
  button->setToolTip(tooltip);
  button->setAccessibleName(caption);
  button->setFocusPolicy(Qt::TabFocus);
  QObject::connect(button, &QToolButton::clicked, editor, choose);
  row->addWidget(button);
  editor->setFocusProxy(field);
  return editor;
}

namespace {

constexpr int kTurn = 50;  // milliseconds
constexpr int kSliderSteps = 1000;

/// Rounds to a short text. The steps are too small to see.
int64_t rounded(double bytes) {
  const auto whole = static_cast<int64_t>(std::clamp(bytes, 1.0, 4e18));
  const auto step =
      static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(whole / 512, 1))));
  return (whole + step / 2) / step * step;
}

}  // namespace

QString bytes_text(int64_t bytes) {
  for (const auto& [name, size] : kByteUnits) {
    if (bytes < size) continue;
    const QString number = QString::number(std::round(1e3 * double(bytes) / double(size)) / 1e3, 'g', 15);
    if (std::llround(number.toDouble() * double(size)) == bytes) return number + name;
  }
  return QString::number(bytes);
}

int64_t bytes_in(const QLineEdit& field, const char* option) {
  const std::string text = field.text().trimmed().toStdString();
  return text.empty() ? 0 : parse_bytes(text, option);
}

void show_bytes(QLineEdit& field, int64_t bytes) {
  try {
    if (bytes_in(field, "") == bytes) return;
  } catch (const InputError&) {
  }
  field.setText(bytes > 0 ? bytes_text(bytes) : QString());
}

LimitField::LimitField(Workspace& workspace, QWidget* parent) : QWidget(parent), workspace_(workspace) {
  const QString explanation =
      tr("The most device memory that a decode may take at any moment, weights included: 1.2GiB, 800MiB, or "
         "bytes.");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins({});
  auto* row = new QHBoxLayout;
  column->addLayout(row);
  auto* label = new PlainLabel(tr("&Limit"), this);
  field_ = new QLineEdit(this);
  field_->setObjectName("limit");
  field_->setPlaceholderText("1.2GiB");
  field_->setAccessibleName(tr("Limit"));
  field_->setMinimumWidth(field_->fontMetrics().horizontalAdvance("000000.000MiB") +
                          field_->fontMetrics().height());
  label->setBuddy(field_);
  slider_ = new QSlider(Qt::Horizontal, this);
  slider_->setObjectName("limit-slider");
  slider_->setRange(0, kSliderSteps);
  slider_->setSingleStep(5);
  slider_->setPageStep(50);
  slider_->setAccessibleName(tr("Limit"));
  for (QWidget* widget :
       {static_cast<QWidget*>(label), static_cast<QWidget*>(field_), static_cast<QWidget*>(slider_)})
    widget->setToolTip(explanation);
  row->addWidget(label);
  row->addWidget(field_);
  row->addWidget(slider_, 1);
  note_ = new InputNote(this);
  note_->setObjectName("note-limit");
  column->addWidget(note_);

  typing_.setSingleShot(true);
  dragging_.setSingleShot(true);
  connect(field_, &QLineEdit::textEdited, this, [this] { typing_.start(kTypingMilliseconds); });
  connect(field_, &QLineEdit::returnPressed, this, &LimitField::readField);
  connect(field_, &QLineEdit::editingFinished, this, [this] {
    if (typing_.isActive()) readField();
  });
  connect(&typing_, &QTimer::timeout, this, &LimitField::readField);
  connect(slider_, &QSlider::valueChanged, this, [this](int position) { drag(double(atSlider(position))); });
  connect(&dragging_, &QTimer::timeout, this, [this] {
    if (dragged_) drag(*dragged_);
  });
  connect(&workspace_, &Workspace::questionChanged, this, &LimitField::showLimit);
  showLimit();
}

void LimitField::setRange(int64_t least_bytes, int64_t most_bytes) {
  least_ = std::max<int64_t>(least_bytes, 1);
  most_ = std::max(most_bytes, least_ + 1);
  moveSlider();
}

void LimitField::drag(double bytes) {
  dragged_ = bytes;
  if (dragging_.isActive()) return;
  dragged_.reset();
  dragging_.start(kTurn);
  setLimit(rounded(bytes));
}

void LimitField::setLimit(qint64 bytes) {
  typing_.stop();
  PlanningQuestion question = workspace_.question();
  if (bytes == question.options.limit_bytes) return;
  question.options.limit_bytes = bytes;
  workspace_.ask(question);
}

void LimitField::readField() {
  typing_.stop();
  try {
    const int64_t bytes = parse_bytes(field_->text().trimmed().toStdString(), "--limit");
    if (bytes < 1) throw InputError("--limit: expected more than 0 bytes");
    note_->say({});
    setLimit(bytes);
  } catch (const InputError& error) {
    const std::string text = error.what();
    note_->say(QString::fromStdString(text.substr(text.find(": ") + 2)));
  }
}

void LimitField::showLimit() {
  const int64_t limit = workspace_.question().options.limit_bytes;
  if (!typing_.isActive()) {
    show_bytes(*field_, limit);
    note_->say({});
  }
  moveSlider();
}

void LimitField::moveSlider() {
  const QSignalBlocker blocker(slider_);
  const double limit = std::max(1.0, double(workspace_.question().options.limit_bytes));
  const double along = std::log(limit / double(least_)) / std::log(double(most_) / double(least_));
  slider_->setValue(static_cast<int>(std::lround(kSliderSteps * std::clamp(along, 0.0, 1.0))));
}

int64_t LimitField::atSlider(int position) const {
  return std::llround(double(least_) *
                      std::pow(double(most_) / double(least_), double(position) / kSliderSteps));
}

}  // namespace headroom::gui
