#include "gui/model/plain_tooltip.h"

#include <QTextDocument>

namespace headroom::gui {

QString plain_tooltip(const QString& text) {
  return Qt::mightBeRichText(text) ? Qt::convertFromPlainText(text, Qt::WhiteSpaceNormal) : text;
}

}  // namespace headroom::gui
