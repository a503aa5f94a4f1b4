#include "decoder/base/os/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "decoder/base/errors.h"
#include "decoder/base/os/descriptor.h"

namespace headroom {
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

}  // namespace headroom
