#include "gui/view/chooser.h"

#include <QHBoxLayout>
#include <QStyle>
#include <QToolButton>

namespace headroom::gui {

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

}  // namespace headroom::gui
