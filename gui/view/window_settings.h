#pragma once

#include <QByteArray>
#include <QMap>
#include <QSettings>
#include <QSize>
#include <QString>
#include <QStringList>

namespace headroom::gui {

/// Settings that the window keeps from one start to the next.
struct WindowSettings {
  QString language = QStringLiteral("system");
  QString page = QStringLiteral("start");
  QStringList recent_files;         ///< newest first
  QByteArray geometry;              ///< empty: the default size
  QByteArray docks;                 ///< layout of docks and tool bars
  QMap<QString, QByteArray> views;  ///< splitters by page and name
};

WindowSettings read_settings(QSettings& from);
void write_settings(QSettings& to, const WindowSettings& settings);

}  // namespace headroom::gui
