#include "decoder/base/os/written_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "decoder/base/errors.h"

namespace headroom {
namespace {

constexpr size_t kPieceBytes = size_t{256} * 1024;

}  // namespace

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

}  // namespace headroom
