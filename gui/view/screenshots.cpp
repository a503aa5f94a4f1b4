#include "gui/view/screenshots.h"

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QPixmap>
#include <QTabWidget>
#include <QThread>
#include <QTimer>
#include <algorithm>

#include "decoder/base/errors.h"
#include "gui/view/main_window.h"

namespace headroom::gui {
namespace {

constexpr int kLongestMilliseconds = 180'000;
/// Turns of the event loop without work: a turn posts events that the next one handles.
constexpr int kQuietTurns = 3;

/// True if a page works, or will after a pause in typing.
bool has_work(const MainWindow& window) {
  return window.busy() || std::ranges::any_of(window.findChildren<QTimer*>(), [](const QTimer* timer) {
           return timer->isSingleShot() && timer->isActive();
         });
}

}  // namespace

void wait_until_idle(const MainWindow& window) {
  QElapsedTimer all;
  all.start();
  for (int quiet = 0; quiet < kQuietTurns; quiet = has_work(window) ? 0 : quiet + 1) {
    QApplication::processEvents(QEventLoop::AllEvents, 20);
    QApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
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
