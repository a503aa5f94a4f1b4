#include <QApplication>

#include "tests/run_tests.h"

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  QApplication::setOrganizationName("headroom-tests");  // settings of their own
  QApplication::setApplicationName("headroom-tests");
  return headroom::test::run_tests(argc, argv);
}
