#include "decoder/base/os/read_only_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "decoder/base/errors.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/os/written_file.h"

namespace headroom {

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

void ReadOnlyFile::read_at(int64_t offset, void* out, int64_t bytes) const {
  const int error = read_fully(descriptor_.number(), offset, out, bytes);
  if (error == 0) return;
  if (error == kEndsEarly) throw DeviceError(origin_ + ": became shorter while it was read");
  throw DeviceError(origin_ + ": cannot be read: " + std::generic_category().message(error));
}

}  // namespace headroom
