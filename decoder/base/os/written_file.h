#pragma once

#include <cstdint>
#include <filesystem>

#include "decoder/base/os/descriptor.h"

namespace headroom {

/// Writes all bytes at `offset`, in as many calls as needed. Returns errno, 0 for success.
int write_fully(int descriptor, int64_t offset, const void* from, int64_t bytes) noexcept;
constexpr int kEndsEarly = -1;
/// Reads all bytes. Returns errno, 0 for success, or kEndsEarly if the file has fewer.
int read_fully(int descriptor, int64_t offset, void* to, int64_t bytes) noexcept;
/// Throws DeviceError for a failed call on an output.
[[noreturn]] void fail_to_write(const std::filesystem::path& file, int error_number);
/// Opens an existing file for writing, but follows no link. Throws DeviceError.
int open_to_overwrite(const std::filesystem::path& file);

/// A file being written, at any offset or at its end. The destructor does not remove it; the owner does.
class WrittenFile {
 public:
  /// Creates the file `path`, called `name` in messages. It uses O_EXCL, so it never writes to an existing
  /// file or through a link. Throws DeviceError.
  WrittenFile(const std::filesystem::path& path, std::filesystem::path name);
  /// Takes over an open descriptor for reading and writing. If it is -1, throws DeviceError with errno.
  WrittenFile(int descriptor, std::filesystem::path name);
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  /// Reserves disk space now, so that a full disk is found before the work. File systems without support for
  /// it are skipped. Throws DeviceError.
  void reserve(int64_t bytes);
  /// Throws DeviceError, for example if the disk is full.
  void write_at(int64_t offset, const void* data, int64_t bytes);
  /// Reads bytes back. Throws DeviceError, also if the file ends too early.
  void read_at(int64_t offset, void* data, int64_t bytes) const;
  /// Appends after the bytes of earlier append() calls. Returns errno, 0 for success. It throws nothing,
  /// because C code calls it.
  int append(const void* data, int64_t bytes) noexcept;
  /// Copies the whole file to another descriptor, in order. Throws DeviceError.
  void copy_to(int descriptor) const;
  /// Closes the file. Only name() may be called afterwards. Network file systems may report a full disk only
  /// here. Throws DeviceError.
  void close();
  /// Closes the file and removes it from `path`. Throws DeviceError.
  void close_and_remove(const std::filesystem::path& path);

  const std::filesystem::path& name() const { return name_; }
  /// Throws DeviceError for a failed call on this file with this errno.
  [[noreturn]] void fail(int error_number) const;

 private:
  std::filesystem::path name_;
  Descriptor descriptor_;
  int64_t end_ = 0;
};

}  // namespace headroom
