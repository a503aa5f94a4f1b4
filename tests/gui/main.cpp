#define CATCH_CONFIG_RUNNER
#include <QApplication>
#include <catch2/catch.hpp>

int main(int argc, char** argv) {
  qputenv("QT_QPA_PLATFORM", "offscreen");
  const QApplication application(argc, argv);
  QApplication::setOrganizationName("headroom-tests");  // settings of their own
  QApplication::setApplicationName("headroom-tests");
  return Catch::Session().run(argc, argv);
}
