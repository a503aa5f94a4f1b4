#include "decoder/base/os/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {

Descriptor::~Descriptor() {
  if (number_ >= 0) close(number_);
}

// Without O_NONBLOCK, opening a pipe would wait for a writer.
ReadOnlyFile::ReadOnlyFile(const std::filesystem::path& file)
    : origin_(file.string()), descriptor_(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_.number() < 0) {
    const int reason = errno;
    if (reason == ENOENT) throw InputError(origin_ + ": no such file");
    fail_by_errno(origin_, reason);
  }
  struct stat status {};
  if (fstat(descriptor_.number(), &status) != 0) fail_by_errno(origin_, errno);
  if (!S_ISREG(status.st_mode)) throw InputError(origin_ + ": expected a regular file");
  bytes_ = status.st_size;
}

namespace {

constexpr size_t kPieceBytes = size_t{256} * 1024;

[[noreturn]] void fail_to_read(const std::string& origin, int error_number) {
  throw DeviceError(origin + ": cannot be read: " + std::generic_category().message(error_number));
}

}  // namespace

void ReadOnlyFile::read_at(int64_t offset, void* out, int64_t bytes) const {
  const int error = read_fully(descriptor_.number(), offset, out, bytes);
  if (error == 0) return;
  if (error == kEndsEarly) throw DeviceError(origin_ + ": became shorter while it was read");
  fail_to_read(origin_, error);
}

void fail_to_write(const std::filesystem::path& file, int error_number) {
  throw DeviceError(file.string() + ": cannot be written: " + std::generic_category().message(error_number));
}

int write_fully(int descriptor, int64_t offset, const void* from, int64_t bytes) noexcept {
  const auto* data = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t written = pwrite(descriptor, data, static_cast<size_t>(bytes), offset);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return EIO;
    data += written;
    offset += written;
    bytes -= written;
  }
  return 0;
}

int read_fully(int descriptor, int64_t offset, void* to, int64_t bytes) noexcept {
  auto* data = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t found = pread(descriptor, data, static_cast<size_t>(bytes), offset);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) return errno;
    if (found == 0) return kEndsEarly;
    data += found;
    offset += found;
    bytes -= found;
  }
  return 0;
}

int64_t read_in_order(int descriptor, const std::string& origin, void* to, int64_t bytes) {
  auto* data = static_cast<char*>(to);
  int64_t done = 0;
  while (done < bytes) {
    const ssize_t found = read(descriptor, data + done, static_cast<size_t>(bytes - done));
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) fail_to_read(origin, errno);
    if (found == 0) break;
    done += found;
  }
  return done;
}

int open_to_overwrite(const std::filesystem::path& file) {
  const int descriptor = open(file.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) fail_to_write(file, errno);
  return descriptor;
}

WrittenFile::WrittenFile(const std::filesystem::path& path, std::filesystem::path name)
    : name_(std::move(name)), descriptor_(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (descriptor_.number() < 0) fail(errno);
}

WrittenFile::WrittenFile(int descriptor, std::filesystem::path name)
    : name_(std::move(name)), descriptor_(descriptor) {
  if (descriptor_.number() < 0) fail(errno);
}

void WrittenFile::fail(int error_number) const {
  fail_to_write(name_, error_number);
}

void WrittenFile::reserve(int64_t bytes) {
  if (fallocate(descriptor_.number(), 0, 0, bytes) != 0 && (errno == ENOSPC || errno == EFBIG)) fail(errno);
}

void WrittenFile::write_at(int64_t offset, const void* data, int64_t bytes) {
  const int error = write_fully(descriptor_.number(), offset, static_cast<const char*>(data), bytes);
  if (error != 0) fail(error);
}

void WrittenFile::read_at(int64_t offset, void* data, int64_t bytes) const {
  const int error = read_fully(descriptor_.number(), offset, data, bytes);
  if (error != 0) fail(error == kEndsEarly ? EIO : error);
}

int WrittenFile::append(const void* data, int64_t bytes) noexcept {
  const int error = write_fully(descriptor_.number(), end_, static_cast<const char*>(data), bytes);
  if (error == 0) end_ += bytes;
  return error;
}

void WrittenFile::copy_to(int descriptor) const {
  std::vector<char> piece(kPieceBytes);
  for (int64_t offset = 0;;) {
    const ssize_t found = pread(descriptor_.number(), piece.data(), piece.size(), offset);
    if (found < 0 && errno == EINTR) continue;
    if (found < 0) fail(errno);
    if (found == 0) return;
    offset += found;
    for (ssize_t done = 0; done < found;) {
      const ssize_t written = ::write(descriptor, piece.data() + done, static_cast<size_t>(found - done));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno);
      done += written;
    }
  }
}

void WrittenFile::close() {
  if (::close(descriptor_.release()) != 0) fail(errno);
}

void WrittenFile::close_and_remove(const std::filesystem::path& path) {
  close();
  if (std::remove(path.c_str()) != 0) fail(errno);
}

namespace {

bool others_may_write(const struct stat& status) {
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

}  // namespace

void make_private_file(const std::filesystem::path& file) {
  struct stat status {};
  const Descriptor opened(open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (opened.number() < 0 || fstat(opened.number(), &status) != 0) throw DeviceError(std::strerror(errno));
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || others_may_write(status))
    throw DeviceError("expected a file that you own and no other user may write");
  if (stat(file.parent_path().c_str(), &status) != 0) throw DeviceError(std::strerror(errno));
  const bool own = status.st_uid == geteuid() || status.st_uid == 0;
  if (!own || (others_may_write(status) && (status.st_mode & S_ISVTX) == 0))
    throw DeviceError("expected a folder in which no other user may replace files");
}

int open_unnamed_file(const std::filesystem::path& folder) noexcept try {
  const int descriptor = open(folder.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return descriptor;
  // Fallback for file systems without O_TMPFILE: create a named file and unlink it at once.
  std::string name = (folder / ".headroom-unnamed-XXXXXX").string();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return -1;
}

int open_unnamed_beside(const std::filesystem::path& output) noexcept try {
  const OutputTarget target = output_target(output);
  if (target.is_stream) return open_unnamed_file(folder_for_unnamed_files());
  return open_unnamed_file(target.path.has_parent_path() ? target.path.parent_path() : ".");
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return -1;
} catch (const DeviceError&) {
  errno = EIO;
  return -1;
} catch (const InputError&) {
  errno = EINVAL;
  return -1;
}

std::filesystem::path folder_for_unnamed_files() {
  const char* chosen = std::getenv("TMPDIR");
  if (chosen != nullptr && *chosen != 0) return chosen;
  std::error_code error;
  return std::filesystem::is_directory("/var/tmp", error) ? "/var/tmp" : "/tmp";
}

std::filesystem::path folder_for_temporary_files() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  const char* chosen = std::getenv("TMPDIR");
  const std::string named = chosen == nullptr ? "/tmp" : std::string("TMPDIR=") + chosen;
  if (is_system_failure(error.value())) fail_by_errno(named, error.value());
  throw InputError(named + ": expected a folder for temporary files, found none");
}

}  // namespace headroom
