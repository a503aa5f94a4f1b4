#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace headroom {

/// Owns a file descriptor and closes it. A negative number means that no file is open.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  int number() const { return number_; }
  /// Gives up ownership: the caller closes the descriptor.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// A regular file for reading at any offset, from several threads.
///
/// It uses pread(), not mmap(), for two reasons. Pages mapped while copying 99 MB grew the process by 43 MiB
/// on Linux 6.18, even with MADV_DONTNEED after each copy. One fault probably maps a whole large folio of
/// the page cache again. And if another program shortens the file, pread() reports an error, but a mapping
/// would end the process.
class ReadOnlyFile {
 public:
  /// Throws InputError if it is not a regular file or cannot be opened.
  explicit ReadOnlyFile(const std::filesystem::path& file);

  const std::string& origin() const { return origin_; }  ///< the path, for messages
  int64_t bytes() const { return bytes_; }

  /// Throws DeviceError if not all bytes can be read.
  void read_at(int64_t offset, void* out, int64_t bytes) const;

 private:
  std::string origin_;
  const Descriptor descriptor_;
  int64_t bytes_ = 0;
};

/// Writes all bytes at `offset`, in as many calls as needed. Returns errno, 0 for success.
int write_fully(int descriptor, int64_t offset, const void* from, int64_t bytes) noexcept;
constexpr int kEndsEarly = -1;
/// Reads all bytes. Returns errno, 0 for success, or kEndsEarly if the file has fewer.
int read_fully(int descriptor, int64_t offset, void* to, int64_t bytes) noexcept;
/// Reads from a pipe or file, in order, until all bytes are there or it ends. Returns the number read. Throws
/// DeviceError naming `origin`.
int64_t read_in_order(int descriptor, const std::string& origin, void* to, int64_t bytes);
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

/// Creates a file that only this user can read and write, unless it exists. Throws DeviceError if another
/// user could write or replace it, because such a user could join the decode.
void make_private_file(const std::filesystem::path& file);

/// Opens a new file without a name in `folder`, for reading and writing. The kernel frees it with its
/// descriptor, however the program ends. Returns -1 and sets errno on failure.
int open_unnamed_file(const std::filesystem::path& folder) noexcept;

/// Like open_unnamed_file(), in the output's folder, because that disk needs room for the picture anyway.
/// For a stream, it uses folder_for_unnamed_files().
int open_unnamed_beside(const std::filesystem::path& output) noexcept;

/// Folder for data too large for memory: TMPDIR, else /var/tmp, else /tmp. /tmp comes last because it may be
/// in memory.
std::filesystem::path folder_for_unnamed_files();

/// Returns the folder in TMPDIR, or /tmp. Throws InputError if it does not exist.
std::filesystem::path folder_for_temporary_files();

}  // namespace headroom
