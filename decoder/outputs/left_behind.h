#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Names a file, or a folder, that must not outlive the program: where a signal of remove_files_on_signals()
/// ends it, the file goes first. The owner removes it in every other case.
class RemovedOnSignal {
 public:
  enum class What { with_contents, empty_folder };  ///< an empty folder goes only where it is one by then

  explicit RemovedOnSignal(const std::filesystem::path& file, What what = What::with_contents);
  ~RemovedOnSignal();
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;

 private:
  struct Entry;
  friend void remove_named_files() noexcept;
  Entry* entry_;
  const char* name_;
};

/// From now on SIGINT, SIGTERM and SIGHUP remove what RemovedOnSignal names before they end the program, as
/// they would without this; those that are ignored stay so. A file that becomes too large is an error of its
/// write, not the end.
void remove_files_on_signals();

/// Removes now what RemovedOnSignal names: for a program that is ended from within. Signal handlers may call
/// it.
void remove_named_files() noexcept;

/// Removes a file, or a folder with the files in it and in its folders; nothing deeper. Links go, what they
/// lead to stays. Signal handlers may call it.
void remove_with_contents(const char* path) noexcept;

/// The same for what lies in an open folder; its own name stays.
void remove_contents(int folder) noexcept;

/// Removes the neighbours `<file>.<mark>-<pid>` and `<file>.<mark>-<pid>.…` that a program left behind which
/// was killed: those whose process is no more, files or folders.
void remove_left_behind(const std::filesystem::path& file, const std::string& mark) noexcept;

}  // namespace headroom
