#include "gui/view/screenshots.h"

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QPixmap>
#include <QTabWidget>
#include <QThread>

#include "decoder/base/errors.h"
#include "gui/view/main_window.h"

namespace headroom::gui {
namespace {

constexpr int kLongestMilliseconds = 180'000;
/// Longer than any delay before a page starts to work.
constexpr int kRestMilliseconds = 400;

}  // namespace

void wait_until_idle(const MainWindow& window) {
  QElapsedTimer all, rest;
  all.start();
  rest.start();
  while (rest.elapsed() < kRestMilliseconds) {
    QApplication::processEvents(QEventLoop::AllEvents, 20);
    QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    if (window.busy()) rest.restart();
    if (all.elapsed() > kLongestMilliseconds) throw DeviceError("a page is still busy after three minutes");
    QThread::msleep(5);
  }
}

void write_screenshots(MainWindow& window, const QString& folder) {
  const auto save = [&](const QString& name) {
    wait_until_idle(window);
    const QString file = QDir(folder).filePath(name + QStringLiteral(".png"));
    if (!window.grab().save(file, "PNG")) throw DeviceError(file.toStdString() + ": cannot be written");
  };
  for (const Page* page : window.pages()) {
    window.showPage(page->key());
    save(page->key());
    auto* views = page->findChild<QTabWidget*>(QStringLiteral("views"));
    for (int i = 1; views != nullptr && i < views->count(); ++i) {
      views->setCurrentIndex(i);
      save(views->widget(i)->objectName());
    }
    if (views != nullptr) views->setCurrentIndex(0);
  }
}

}  // namespace headroom::gui
