#pragma once

#include <filesystem>
#include <optional>

#include "decoder/outputs/left_behind.h"

namespace headroom {

/// A folder that appears under its name whole or not at all: it is filled as `<name>.partial-<place>-<pid>`
/// beside it and renamed by commit(). Destroyed before that, or ended by a signal (left_behind.h), it leaves
/// nothing; what a killed program left of the same folder is removed.
class PartialFolder {
 public:
  /// Throws InputError where the folder above does not exist, or `folder` is a file or has something in it;
  /// DeviceError where it cannot be made.
  explicit PartialFolder(const std::filesystem::path& folder);
  ~PartialFolder();
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  /// Final name, and path until commit(). Folders inside may hold only files, because removal goes no deeper.
  const std::filesystem::path& name() const { return name_; }
  const std::filesystem::path& partial() const { return partial_; }
  /// Makes a folder in it. Throws DeviceError.
  void make_folder(const std::filesystem::path& inside);
  /// Throws DeviceError.
  void commit();

 private:
  [[noreturn]] void fail(const std::filesystem::path& name, int error_number) const;
  std::filesystem::path name_;
  std::filesystem::path target_;  ///< the same, behind links
  std::filesystem::path partial_;
  std::optional<RemovedOnSignal> on_signal_;
  int descriptor_ = -1;  ///< of the partial folder: to look what is in it when there are no more descriptors
  bool committed_ = false;
};

}  // namespace headroom
