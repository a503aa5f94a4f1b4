#pragma once

#include <QCoreApplication>
#include <QThread>

namespace headroom::test {

/// Handles what has come, and leaves the processor to workers for a moment: Qt waits for events only where
/// the time is not limited.
inline void handle_events() {
  QCoreApplication::processEvents();
  QThread::msleep(2);
}

}  // namespace headroom::test
