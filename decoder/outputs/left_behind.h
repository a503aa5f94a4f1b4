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

/// Removes the contents of an open folder in the same way. The folder itself stays.
void remove_contents(int folder) noexcept;

/// "<place>-<pid>", for names of temporary files. The place stands for this start of this machine and for the
/// PID namespace: elsewhere the number may be a living process.
std::string process_mark(int process);

/// True if no process of any user has this PID.
bool has_ended(int process) noexcept;

/// Removes the neighbours `<file>.<mark>-<process_mark><suffix>` of processes that ended here without
/// removing them, or of this process, where this user owns them: files, their own partial files, and folders
/// that hold nothing but frames.
void remove_left_behind(const std::filesystem::path& file, const std::string& mark,
                        const std::string& suffix = "") noexcept;

}  // namespace headroom
