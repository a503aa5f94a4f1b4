#include "gui/model/window_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QRegularExpression>

#include "decoder/outputs/left_behind.h"

namespace headroom::gui {
namespace {

const QString kPrefix = QStringLiteral("headroom-gui-");

/// Opens a folder itself, never what a link leads to, and locks it; -1 where that fails.
int locked(const QString& folder) {
  const int opened =
      ::open(QFile::encodeName(folder).constData(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (opened < 0 || ::flock(opened, LOCK_EX | LOCK_NB) == 0) return opened;
  ::close(opened);
  return -1;
}

bool is_own(int folder) {
  struct stat status {};
  return ::fstat(folder, &status) == 0 && status.st_uid == ::geteuid();
}

}  // namespace

WindowFolder::WindowFolder()
    : dir_(QDir::temp().filePath(kPrefix + QString::number(::getpid()) + QStringLiteral("-XXXXXX"))),
      lock_(dir_.isValid() ? locked(dir_.path()) : -1) {}

WindowFolder::~WindowFolder() {
  dir_.remove();  // while it is still locked
  if (lock_ >= 0) ::close(lock_);
}

void remove_old_window_folders() {
  static const QRegularExpression name(QStringLiteral("\\A%1([1-9][0-9]{0,8})-[A-Za-z]{6}\\z").arg(kPrefix));
  const QDir temporary = QDir::temp();
  const QStringList entries =
      temporary.entryList({kPrefix + QLatin1Char('*')}, QDir::Dirs | QDir::NoSymLinks);
  for (const QString& entry : entries) {
    const QRegularExpressionMatch match = name.match(entry);
    if (!match.hasMatch() || !has_ended(match.captured(1).toInt())) continue;
    const int lock = locked(temporary.filePath(entry));
    if (lock < 0) continue;
    if (is_own(lock)) QDir(temporary.filePath(entry)).removeRecursively();
    ::close(lock);
  }
}

}  // namespace headroom::gui
