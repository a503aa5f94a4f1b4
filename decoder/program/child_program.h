#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoder/outputs/left_behind.h"

namespace headroom {

/// Files in a private folder, removed at the end: by then there may be no memory for names, and no descriptor
/// to look into a folder with.
class PrivateFolder {
 public:
  /// Of files with these names, which are not made. Throws DeviceError.
  explicit PrivateFolder(const std::vector<std::string>& names);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::string& file(size_t number) const { return files_[number]; }

 private:
  void remove() const noexcept;

  std::string path_;
  std::vector<std::string> files_;
  std::optional<RemovedOnSignal> on_signal_;
};

/// How a child has ended.
struct ChildEnd {
  int exit_code = 0;    ///< of a child that a signal ended, that of a failed device
  std::string message;  ///< the first line of its errors, without its name
};

/// Runs a program of ours that lies beside this one, and waits for it. What it prints is thrown away, its
/// errors go to a file. Throws DeviceError where it cannot be started, with `what_for` behind.
ChildEnd run_program_beside(const std::string& name, const std::vector<std::string>& arguments,
                            const std::string& errors_file, const std::string& what_for);

}  // namespace headroom
