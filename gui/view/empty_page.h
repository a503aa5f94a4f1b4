#pragma once

#include <QList>
#include <QString>
#include <utility>

class QWidget;

namespace headroom::gui {

class Page;

/// Shown by a page that has nothing to show: says what it would show, with buttons for ways to get it. Each
/// way is a button's text and the key of the page that it opens. The last button opens files.
QWidget* empty_page(Page& page, const QString& words, const QList<std::pair<QString, QString>>& ways);

}  // namespace headroom::gui
