#include "decoder/files/partial_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "decoder/graph/errors.h"

namespace headroom {
namespace {

/// Writes all bytes, however many calls that takes. Returns errno, 0 for success.
int write_fully(int descriptor, int64_t offset, const char* data, int64_t bytes) noexcept {
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

}  // namespace

PartialFile::PartialFile(std::filesystem::path file) : file_(std::move(file)), partial_(file_) {
  std::error_code error;
  const std::filesystem::path folder = file_.has_parent_path() ? file_.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    throw InputError(file_.string() + ": expected an existing folder, " + folder.string() + " is none");
  }
  if (std::filesystem::is_directory(file_, error))
    throw InputError(file_.string() + ": expected a file, found a folder");
  partial_ += ".partial-" + std::to_string(getpid());
  // O_EXCL: whatever else took the name in the meantime, a link of somebody's included, is not written to.
  unlink(partial_.c_str());
  remove_left_behind(file_, "partial");
  on_signal_.emplace(partial_);
  descriptor_ = open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
}

PartialFile::~PartialFile() {
  discard();
}

void PartialFile::discard() noexcept {
  if (descriptor_ < 0) return;
  close(descriptor_);
  unlink(partial_.c_str());
  descriptor_ = -1;
}

void PartialFile::fail(int error_number) const {
  throw DeviceError(file_.string() + ": cannot be written: " + std::generic_category().message(error_number));
}

void PartialFile::reserve(int64_t bytes) {
  if (fallocate(descriptor_, 0, 0, bytes) != 0 && (errno == ENOSPC || errno == EFBIG)) fail(errno);
}

void PartialFile::write_at(int64_t offset, const void* data, int64_t bytes) {
  const int error = write_fully(descriptor_, offset, static_cast<const char*>(data), bytes);
  if (error != 0) fail(error);
}

int PartialFile::append(const void* data, int64_t bytes) noexcept {
  const int error = write_fully(descriptor_, end_, static_cast<const char*>(data), bytes);
  if (error == 0) end_ += bytes;
  return error;
}

void PartialFile::commit() {
  // Network file systems report a full disk only here.
  const int descriptor = std::exchange(descriptor_, -1);
  const bool good = close(descriptor) == 0 && std::rename(partial_.c_str(), file_.c_str()) == 0;
  const int reason = errno;
  if (good) return;
  unlink(partial_.c_str());
  fail(reason);
}

}  // namespace headroom
