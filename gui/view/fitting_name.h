#pragma once

#include <QFontMetricsF>
#include <QString>

namespace headroom::gui {

/// As many of the last parts of a layer's name as fit a width: "res1.conv1" of "up3.res1.conv1". Other words
/// are whole or not there at all.
QString fitting_name(const QString& name, const QFontMetricsF& metrics, double width);

/// The name whole where it fits, or else "…" and as many of its last parts as do, at least the last.
QString shortened_name(const QString& name, const QFontMetricsF& metrics, double width);

}  // namespace headroom::gui
