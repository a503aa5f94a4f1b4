#pragma once

#include <cstdint>
#include <filesystem>

namespace headroom {

/// Writes all bytes at this offset, however many calls that takes. Returns errno, 0 for success.
int write_fully(int descriptor, int64_t offset, const void* from, int64_t bytes) noexcept;

/// A new file while it is being written, at any offset or at its end. It stays when this goes: whoever makes
/// it also removes it.
class WrittenFile {
 public:
  /// Makes the file `path`; messages call it `name`. O_EXCL: whatever else has that path, a link of
  /// somebody's included, is not written to. Throws DeviceError.
  WrittenFile(const std::filesystem::path& path, std::filesystem::path name);
  /// A file that is open for reading and writing already. Throws DeviceError where the descriptor is -1, by
  /// errno.
  WrittenFile(int descriptor, std::filesystem::path name);
  ~WrittenFile();
  WrittenFile(const WrittenFile&) = delete;
  WrittenFile& operator=(const WrittenFile&) = delete;

  /// Claims this many bytes now, so that a full disk is found before the work and not after it. File systems
  /// that cannot do so are let pass. Throws DeviceError.
  void reserve(int64_t bytes);
  /// Throws DeviceError, e.g. where the disk is full.
  void write_at(int64_t offset, const void* data, int64_t bytes);
  /// Reads back what was written. Throws DeviceError, also where the file ends before.
  void read_at(int64_t offset, void* data, int64_t bytes) const;
  /// Writes at the end of what append wrote before. Returns errno, 0 for success: it is called from C code,
  /// which exceptions must not cross.
  int append(const void* data, int64_t bytes) noexcept;
  /// Writes all of it to another descriptor, in order. Throws DeviceError.
  void copy_to(int descriptor) const;
  /// The last call but for name(). Network file systems report a full disk only here. Throws DeviceError.
  void close();

  const std::filesystem::path& name() const { return name_; }
  /// Throws the DeviceError of a call on the file that left this errno.
  [[noreturn]] void fail(int error_number) const;

 private:
  std::filesystem::path name_;
  int descriptor_ = -1;
  int64_t end_ = 0;
};

}  // namespace headroom
