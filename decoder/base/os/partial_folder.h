#pragma once

#include <filesystem>
#include <optional>

#include "decoder/base/os/left_behind.h"

namespace headroom {

/// An output folder that appears complete or not at all. It is filled as `<name>.partial-<place>-<pid>` in
/// the same parent. commit() renames it. Without commit(), the destructor or a signal (left_behind.h)
/// removes it. Leftovers of killed programs for the same folder are removed too.
class PartialFolder {
 public:
  /// Throws InputError if the parent does not exist, or if `folder` is a file or not empty. Throws
  /// DeviceError if it cannot be created.
  explicit PartialFolder(const std::filesystem::path& folder);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  /// Final name, and path until commit(). Folders inside may hold only files, because removal goes no deeper.
  const std::filesystem::path& name() const { return name_; }
  const std::filesystem::path& partial() const { return partial_; }
  /// Creates a folder inside the partial folder. Throws DeviceError.
  void make_folder(const std::filesystem::path& inside);
  /// Throws DeviceError.
  void commit();

 private:
  [[noreturn]] void fail(const std::filesystem::path& name, int error_number) const;
  std::filesystem::path name_;
  std::filesystem::path target_;  ///< name_ after following links
  std::filesystem::path partial_;
  std::optional<RemovedOnSignal> on_signal_;
  int descriptor_ = -1;  ///< of the partial folder; opened early, in case descriptors run out
  bool committed_ = false;
};

}  // namespace headroom
