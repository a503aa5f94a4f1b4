#pragma once

#include <QString>

namespace headroom::gui {

class MainWindow;

/// Saves each page of the window as `folder`/<key>.png once all workers are idle. Throws DeviceError if a
/// picture cannot be written, or if a page is still busy after three minutes.
void write_screenshots(MainWindow& window, const QString& folder);

/// Handles events until nothing is being read or computed.
void wait_until_idle(const MainWindow& window);

}  // namespace headroom::gui
