#include "gui/view/empty_page.h"

#include <QCoreApplication>
#include <QHBoxLayout>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/view/page.h"
#include "gui/view/plain_text.h"

namespace headroom::gui {

QWidget* empty_page(Page& page, const QString& words, const QList<std::pair<QString, QString>>& ways) {
  constexpr int kWidest = 620;
  auto* empty = new QWidget(&page);
  empty->setObjectName(QStringLiteral("empty"));
  auto* text = paragraph(empty);
  text->setText(words);
  text->setMinimumWidth(kWidest * 2 / 3);
  text->setMaximumWidth(kWidest);
  auto* buttons = new QHBoxLayout;
  for (const auto& [name, key] : ways) {
    auto* button = new QPushButton(name, empty);
    button->setObjectName(QStringLiteral("go-to-") + key);
    QObject::connect(button, &QPushButton::clicked, &page,
                     [&page, key = key] { Q_EMIT page.pageAsked(key); });
    buttons->addWidget(button);
  }
  auto* open = new QPushButton(QCoreApplication::translate("EmptyPage", "&Open files…"), empty);
  open->setObjectName(QStringLiteral("open-files"));
  QObject::connect(open, &QPushButton::clicked, &page, &Page::openAsked);
  buttons->addWidget(open);
  buttons->addStretch();
  auto* column = new QVBoxLayout;
  column->addStretch(2);
  column->addWidget(text);
  column->addLayout(buttons);
  column->addStretch(3);
  auto* row = new QHBoxLayout(empty);
  row->addStretch();
  row->addLayout(column);
  row->addStretch();
  return empty;
}

}  // namespace headroom::gui
