#pragma once

#include <QFontMetricsF>
#include <QString>

namespace headroom::gui {

/// The longest tail of a layer's name that fits the width: "res1.conv1" of "up3.res1.conv1". Empty if even
/// the last part is too wide. Other texts are not cut: the result is the whole text or empty.
QString fitting_name(const QString& name, const QFontMetricsF& metrics, double width);

/// The whole name if it fits. Otherwise "…" and the longest tail that fits, at least the last part.
QString shortened_name(const QString& name, const QFontMetricsF& metrics, double width);

}  // namespace headroom::gui
