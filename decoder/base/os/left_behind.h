#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Registers a file or folder for removal if a signal handled by remove_files_on_signals() ends the program.
/// In all other cases, the owner removes it.
class RemovedOnSignal {
 public:
  enum class What { with_contents, empty_folder };  ///< empty_folder: removed only if it is empty

  explicit RemovedOnSignal(std::filesystem::path file, What what = What::with_contents);
  ~RemovedOnSignal();
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;

 private:
  friend void remove_named_files() noexcept;
  const std::filesystem::path file_;
  const What what_;
  RemovedOnSignal *older_ = nullptr, *newer_ = nullptr;  ///< in the list of all
};

/// Installs handlers for SIGINT, SIGTERM and SIGHUP. They remove the registered files and then let the
/// signal end the program. Ignored signals stay ignored. It also ignores SIGXFSZ, so that a file that grows
/// too large is a write error.
void remove_files_on_signals();

/// Removes the registered files now, the newest first, for a program that ends itself. Async-signal-safe.
void remove_named_files() noexcept;

/// Removes a file, or a folder of frames with one level of subfolders. Other files in the folder stay, and
/// then the folder does too. Links are removed, not followed. Async-signal-safe.
void remove_with_contents(const char* path) noexcept;

/// Removes the contents of an open folder in the same way. The folder itself stays.
void remove_contents(int folder) noexcept;

/// Returns "<place>-<pid>" for names of temporary files. The place identifies the machine by its host name,
/// and the PID namespace. In another place, the same PID may be a living process.
std::string process_mark(int process);
std::string process_mark();  ///< of this process

/// True if no process of any user has this PID.
bool has_ended(int process) noexcept;

/// Removes leftovers `<file>.<mark>-<process_mark><suffix>` next to `file`. Their process must be this one,
/// or have ended in this place. This user must own them. Partial files of leftovers are removed as well.
void remove_left_behind(const std::filesystem::path& file, const std::string& mark,
                        const std::string& suffix = "") noexcept;

}  // namespace headroom
