#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "decoder/files/left_behind.h"

namespace headroom {

/// A file that appears under its name whole or not at all: it is written as `<name>.partial-<pid>` beside it
/// and renamed by commit(). Destroyed before that, or ended by a signal (left_behind.h), it leaves nothing;
/// what a killed program left of the same file is removed.
class PartialFile {
 public:
  /// Throws InputError where the folder does not exist or `file` is a folder, DeviceError where no file can
  /// be made in it.
  explicit PartialFile(std::filesystem::path file);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  /// Claims this many bytes now, so that a full disk is found before the work and not after it. File systems
  /// that cannot do so are let pass. Throws DeviceError.
  void reserve(int64_t bytes);
  /// Throws DeviceError, e.g. where the disk is full.
  void write_at(int64_t offset, const void* data, int64_t bytes);
  /// Throws DeviceError.
  void commit();

  /// Writes at the end of what append wrote before. Returns errno, 0 for success: it is called from C code,
  /// which exceptions must not cross.
  int append(const void* data, int64_t bytes) noexcept;
  [[noreturn]] void fail(int error_number) const;

 private:
  void discard() noexcept;
  std::filesystem::path file_, partial_;
  std::optional<RemovedOnSignal> on_signal_;
  int descriptor_ = -1;
  int64_t end_ = 0;
};

}  // namespace headroom
