#pragma once

#include <QCoreApplication>
#include <QDeadlineTimer>
#include <QThread>
#include <catch2/catch.hpp>
#include <functional>

namespace headroom::test {

/// Handles what has come, and leaves the processor to workers for a moment: Qt waits for events only where
/// the time is not limited.
inline void handle_events() {
  QCoreApplication::processEvents();
  QThread::msleep(2);
}

/// Handles events until the condition holds. The deadline only ends a test that hangs, before CTest does.
inline void wait_until(const std::function<bool()>& holds) {
  constexpr int kHangs = 600'000;
  const QDeadlineTimer deadline(kHangs);
  while (!holds()) {
    REQUIRE_FALSE(deadline.hasExpired());
    handle_events();
  }
}

}  // namespace headroom::test
