#include "decoder/base/os/inside_folder.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "decoder/base/errors.h"
#include "decoder/base/os/descriptor.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {
namespace {

using std::filesystem::path;

constexpr int kOpenFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;
const std::string kFoldersOfDescriptors = "/proc/self/fd/";

int open_beneath(int folder, const path& named) {
  open_how how{};
  how.flags = kOpenFolder;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const path there = named.empty() ? path(".") : named;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const long open = syscall(SYS_openat2, folder, there.c_str(), &how, sizeof how);
    if (open >= 0) return static_cast<int>(open);
    if (errno != EAGAIN) return -1;  // EAGAIN: a folder was renamed meanwhile
  }
  return -1;
}

/// Returns the target of a link in an open folder. Empty if `name` is not a link.
path link_in(int folder, const path& name) {
  char target[PATH_MAX];
  const ssize_t bytes = readlinkat(folder, name.c_str(), target, sizeof target);
  return bytes < 0 ? path() : path(std::string(target, static_cast<size_t>(bytes)));
}

/// Follows links and opens the parent folder of the final target. Reduces `named` to the target's name in
/// that folder. Returns -1 and sets errno on failure.
int open_folder_of(int folder, path& named) {
  for (int links = 0; links <= kMostLinks; ++links) {
    if (!named.has_filename()) named = named.parent_path();
    Descriptor open(open_beneath(folder, named.parent_path()));
    if (open.number() < 0) return -1;
    const path target = link_in(open.number(), named.filename());
    if (target.empty()) {
      named = named.filename();
      return open.release();
    }
    named = target.is_absolute() ? path("..") : named.parent_path() / target;
    if (!named.has_filename() || named.filename() == ".." || named.filename() == ".") break;
  }
  errno = EXDEV;
  return -1;
}

[[noreturn]] void refuse(const path& folder, const path& named, int error_number) {
  const path whole = folder / named;
  if (error_number == ENOSYS)
    throw DeviceError(whole.string() + ": cannot be opened inside its folder: expected Linux 5.6 or later");
  if (error_number != EXDEV && error_number != ELOOP) fail_by_errno(whole.string(), error_number);
  throw InputError(whole.string() + ": expected a name inside " + (folder.empty() ? "." : folder.string()) +
                   ", found a link that leads out of it");
}

Descriptor opened(const path& folder) {
  return Descriptor(open(folder.empty() ? "." : folder.c_str(), kOpenFolder));
}

}  // namespace

InsideFolder::InsideFolder(const std::filesystem::path& folder, const std::filesystem::path& named)
    : folder_((folder / named).parent_path()) {
  if (folder_.empty()) folder_ = ".";
  const Descriptor base = opened(folder);
  std::filesystem::path last = named;
  if (base.number() >= 0) descriptor_ = open_folder_of(base.number(), last);
  if (descriptor_ < 0) refuse(folder, named, errno);
  path_ = kFoldersOfDescriptors + std::to_string(descriptor_) + "/" + last.string();
}

InsideFolder::~InsideFolder() {
  close(descriptor_);
}

std::string InsideFolder::renamed(std::string message) const {
  const std::string open = path_.parent_path().string(), known = folder_.string();
  for (size_t at = 0; (at = message.find(open, at)) != std::string::npos; at += known.size())
    message.replace(at, open.size(), known);
  return message;
}

void require_inside(const path& folder, const path& named) {
  const Descriptor base = opened(folder);
  if (base.number() < 0) return;
  path last = named;
  int open = open_folder_of(base.number(), last);
  // Missing folders will be created later, so check the nearest existing one.
  for (path above = named.parent_path(); open < 0 && errno == ENOENT; above = above.parent_path())
    open = open_beneath(base.number(), above);
  if (open < 0) refuse(folder, named, errno);
  close(open);
}

bool is_in_open_folder(const path& file) {
  const std::string folder = file.parent_path().string();
  return folder.starts_with(kFoldersOfDescriptors) &&
         folder.find_first_not_of("0123456789", kFoldersOfDescriptors.size()) == std::string::npos;
}

}  // namespace headroom
