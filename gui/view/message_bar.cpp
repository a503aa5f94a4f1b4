#include "gui/view/message_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/view/plain_text.h"

namespace headroom::gui {
namespace {

constexpr int kMostMessages = 5;
constexpr const char* kPlan = "plan";  ///< of a row: its message's plan

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), rows_(new QVBoxLayout(this)) {
  setFrameShape(QFrame::StyledPanel);
  rows_->setContentsMargins(8, 4, 4, 4);
  rows_->setSpacing(2);
  hide();
}

void MessageBar::add(const Message& message) {
  if (messages().contains(message.text)) return;
  auto* row = new QWidget(this);
  row->setProperty(kPlan, message.plan);
  auto* line = new QHBoxLayout(row);
  line->setContentsMargins(0, 0, 0, 0);
  auto* icon = new PlainLabel(row);
  const int side = style()->pixelMetric(QStyle::PM_SmallIconSize);
  icon->setPixmap(style()->standardIcon(QStyle::SP_MessageBoxWarning).pixmap(side));
  auto* text = new PlainLabel(message.text, row);
  text->setObjectName(QStringLiteral("message"));
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  text->setAccessibleName(tr("Fault"));
  auto* close = new QToolButton(row);
  close->setAutoRaise(true);
  close->setIcon(style()->standardIcon(QStyle::SP_TitleBarCloseButton));
  close->setToolTip(tr("Dismiss"));
  close->setAccessibleName(tr("Dismiss"));
  line->addWidget(icon);
  line->addWidget(text, 1);
  if (!message.plan.isEmpty()) {
    auto* model = new QPushButton(tr("Choose the model's folder…"), row);
    connect(model, &QPushButton::clicked, this, [this, plan = message.plan] { Q_EMIT modelAsked(plan); });
    line->addWidget(model, 0, Qt::AlignTop);
  }
  line->addWidget(close, 0, Qt::AlignTop);
  connect(close, &QToolButton::clicked, this, [this, row] { dismiss(row); });
  rows_->insertWidget(0, row);
  while (rows_->count() > kMostMessages) {
    QLayoutItem* oldest = rows_->takeAt(rows_->count() - 1);
    oldest->widget()->deleteLater();
    delete oldest;
  }
  show();
}

void MessageBar::dismiss(QWidget* row) {
  rows_->removeWidget(row);
  row->hide();
  row->deleteLater();
  setVisible(rows_->count() > 0);
}

void MessageBar::dismissPlan(const QString& plan) {
  for (int i = rows_->count(); i-- > 0;) {
    QWidget* row = rows_->itemAt(i)->widget();
    if (row->property(kPlan).toString() == plan) dismiss(row);
  }
}

QStringList MessageBar::messages() const {
  QStringList texts;
  for (int i = 0; i < rows_->count(); ++i)
    texts << rows_->itemAt(i)->widget()->findChild<QLabel*>(QStringLiteral("message"))->text();
  return texts;
}

void MessageBar::dismissAll() {
  while (QLayoutItem* item = rows_->takeAt(0)) {
    item->widget()->hide();
    item->widget()->deleteLater();
    delete item;
  }
  hide();
}

}  // namespace headroom::gui
