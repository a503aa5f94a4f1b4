#pragma once

#include <QTemporaryDir>

namespace headroom::gui {

/// A temporary folder of this window, removed with it. Its name has the process, and it stays locked, so that
/// a later window knows whether the folder is still in use.
class WindowFolder {
 public:
  WindowFolder();
  ~WindowFolder();
  WindowFolder(const WindowFolder&) = delete;
  WindowFolder& operator=(const WindowFolder&) = delete;
  const QTemporaryDir& dir() const { return dir_; }

 private:
  QTemporaryDir dir_;
  int lock_ = -1;
};

/// Removes the folders that windows of this user left in the temporary folder when they were killed: those
/// with the full name of a WindowFolder whose process has ended and that no process has locked.
void remove_old_window_folders();

}  // namespace headroom::gui
