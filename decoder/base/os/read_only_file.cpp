#include "decoder/base/os/read_only_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "decoder/base/errors.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {

ReadOnlyFile::ReadOnlyFile(const std::filesystem::path& file) : origin_(file.string()) {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  descriptor_ = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    const int reason = errno;
    if (reason == ENOENT) throw InputError(origin_ + ": no such file");
    fail_by_errno(origin_, reason);
  }
  struct stat status {};
  const int failed = fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (failed != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor_);
    if (failed != 0) fail_by_errno(origin_, failed);
    throw InputError(origin_ + ": expected a regular file");
  }
  bytes_ = status.st_size;
}

ReadOnlyFile::~ReadOnlyFile() {
  close(descriptor_);
}

void ReadOnlyFile::read_at(int64_t offset, void* out, int64_t bytes) const {
  char* target = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = pread(descriptor_, target, static_cast<size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DeviceError(origin_ + ": cannot be read: " + std::generic_category().message(errno));
    if (got == 0) throw DeviceError(origin_ + ": became shorter while it was read");
    target += got;
    offset += got;
    bytes -= got;
  }
}

}  // namespace headroom
