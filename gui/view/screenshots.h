#pragma once

#include <QString>

namespace headroom::gui {

class MainWindow;

/// The window with each of its pages as `folder`/<key>.png, once all workers have come to rest. Throws
/// DeviceError where a picture cannot be written or a page is still busy after three minutes.
void write_screenshots(MainWindow& window, const QString& folder);

/// Handles events until nothing is being read or computed.
void wait_until_idle(const MainWindow& window);

}  // namespace headroom::gui
