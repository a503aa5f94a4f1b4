#include "gui/view/message_bar.h"
#include "gui/view/plain_label.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

namespace headroom::gui {
namespace {

constexpr int kMostMessages = 5;

}  // namespace

MessageBar::MessageBar(QWidget* parent) : QFrame(parent), rows_(new QVBoxLayout(this)) {
  setFrameShape(QFrame::StyledPanel);
  rows_->setContentsMargins(8, 4, 4, 4);
  rows_->setSpacing(2);
  hide();
}

void MessageBar::add(const QString& message) {
  if (messages().contains(message)) return;
  auto* row = new QWidget(this);
  auto* line = new QHBoxLayout(row);
  line->setContentsMargins(0, 0, 0, 0);
  auto* icon = new PlainLabel(row);
  const int side = style()->pixelMetric(QStyle::PM_SmallIconSize);
  icon->setPixmap(style()->standardIcon(QStyle::SP_MessageBoxWarning).pixmap(side));
  auto* text = new PlainLabel(message, row);
  text->setObjectName(QStringLiteral("message"));
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  text->setAccessibleName(tr("Fault"));
  auto* dismiss = new QToolButton(row);
  dismiss->setAutoRaise(true);
  dismiss->setIcon(style()->standardIcon(QStyle::SP_TitleBarCloseButton));
  dismiss->setToolTip(tr("Dismiss"));
  dismiss->setAccessibleName(tr("Dismiss"));
  line->addWidget(icon);
  line->addWidget(text, 1);
  line->addWidget(dismiss, 0, Qt::AlignTop);
  connect(dismiss, &QToolButton::clicked, this, [this, row] {
    rows_->removeWidget(row);
    row->hide();
    row->deleteLater();
    setVisible(rows_->count() > 0);
  });
  rows_->insertWidget(0, row);
  while (rows_->count() > kMostMessages) {
    QLayoutItem* oldest = rows_->takeAt(rows_->count() - 1);
    oldest->widget()->deleteLater();
    delete oldest;
  }
  show();
}

QStringList MessageBar::messages() const {
  QStringList texts;
  for (int i = 0; i < rows_->count(); ++i) {
    if (const auto* text = rows_->itemAt(i)->widget()->findChild<QLabel*>(QStringLiteral("message")))
      texts << text->text();
  }
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
