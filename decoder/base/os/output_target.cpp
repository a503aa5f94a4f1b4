#include "decoder/base/os/output_target.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <climits>
#include <deque>
#include <optional>
#include <system_error>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {
namespace {

using std::filesystem::path;

/// Longest suffix of a partial file: ".partial-" and process_mark().
constexpr size_t kLongestMark = 25;

path folder_of(const path& file) {
  return file.has_parent_path() ? file.parent_path() : path(".");
}

/// Number of an open descriptor from its name, such as /proc/self/fd/1. That name looks like a link, but its
/// target may have no path. Returns nullopt for any other name.
std::optional<int> descriptor_of(const path& file) {
  std::error_code error;
  const path folder = std::filesystem::canonical(folder_of(file), error);
  if (error || folder != path("/proc") / std::to_string(getpid()) / "fd") return std::nullopt;
  const std::string name = file.filename().string();
  int descriptor = -1;
  const auto [rest, failed] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
  if (failed != std::errc() || *rest != 0 || descriptor < 0) return std::nullopt;
  return descriptor;
}

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISBLK(mode)) return "a disk";
  return "something else";
}

/// Applies the kernel's rule of fs.protected_symlinks, even if the kernel does not enforce it.
void require_trusted_link(const path& named, const path& link) {
  constexpr mode_t kShared = S_ISVTX | S_IWOTH;
  struct stat folder {
  }, itself{};
  if (stat(folder_of(link).c_str(), &folder) != 0 || lstat(link.c_str(), &itself) != 0) return;
  if ((folder.st_mode & kShared) != kShared) return;
  if (itself.st_uid == folder.st_uid || itself.st_uid == geteuid()) return;
  throw InputError(named.string() + ": expected a file or a link of yours, found " + link.string() +
                   ", another user's link in a folder that all users may write to");
}

/// Rejects untrusted links among the parents of `file`, and among the folders that those links lead through.
void require_trusted_folders(const path& named, const path& file) {
  const path folder = file.parent_path();
  std::deque<path> left(folder.begin(), folder.end());
  path at;
  for (int links = 0; !left.empty() && links <= kMostLinks;) {
    const path next = at / left.front();
    left.pop_front();
    std::error_code error;
    const path leads_to = std::filesystem::read_symlink(next, error);
    if (error) {
      at = next;
      continue;
    }
    require_trusted_link(named, next);
    ++links;
    left.insert(left.begin(), leads_to.begin(), leads_to.end());
  }
}

/// Follows links to a file, which need not exist, or to an open descriptor.
OutputTarget behind_links(const path& named) {
  path file = named;
  for (int links = 0; links <= kMostLinks; ++links) {
    require_trusted_folders(named, file);
    if (const auto descriptor = descriptor_of(file)) return {file, true, *descriptor};
    std::error_code error;
    const path leads_to = std::filesystem::read_symlink(file, error);
    if (error && is_system_failure(error.value())) fail_by_errno(file.string(), error.value());
    if (error) return {file, false, -1};
    require_trusted_link(named, file);
    file = leads_to.is_absolute() ? leads_to : folder_of(file) / leads_to;
  }
  throw InputError(named.string() + ": expected a file, found links that lead in a circle");
}

void require_name_fits(const path& named, const path& file) {
  const size_t longest = NAME_MAX - kLongestMark;
  const size_t length = file.filename().string().size();
  if (length <= longest && file.string().size() + kLongestMark < PATH_MAX) return;
  const std::string shown = named.string().substr(0, 40) + "…";
  if (length > longest) {
    throw InputError(shown + ": the name is too long: expected at most " + std::to_string(longest) +
                     " bytes, found " + std::to_string(length));
  }
  throw InputError(shown + ": the path is too long: expected at most " +
                   std::to_string(PATH_MAX - kLongestMark - 1) + " bytes, found " +
                   std::to_string(file.string().size()));
}

}  // namespace

OutputTarget output_target(const path& named) {
  if (named == "-") return {named, true, STDOUT_FILENO};
  struct stat status {};
  const bool follow = !is_in_open_folder(named);
  if ((follow ? stat : lstat)(named.c_str(), &status) == 0) {
    OutputTarget target = follow ? behind_links(named) : OutputTarget{named, false, -1};
    if (S_ISLNK(status.st_mode)) return target;  // the link itself is replaced
    if (target.is_stream) return target;
    if (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode)) return {target.path, true, -1};
    if (!S_ISREG(status.st_mode)) {
      throw InputError(named.string() + ": expected a file, found " + kind_of(status.st_mode));
    }
    require_name_fits(named, target.path);
    return target;
  }
  if (is_system_failure(errno)) fail_by_errno(named.string(), errno);
  if (errno == ENAMETOOLONG) require_name_fits(named, named);
  OutputTarget target = follow ? behind_links(named) : OutputTarget{named, false, -1};
  require_name_fits(named, target.path);
  return target;
}

path file_behind_links(const path& named) {
  return behind_links(named).path;
}

bool is_stream(const path& named) noexcept try {
  return !named.empty() && output_target(named).is_stream;
} catch (const std::exception&) {
  return false;
}

bool is_standard_output(const path& named) noexcept try {
  return !named.empty() && output_target(named).descriptor == STDOUT_FILENO;
} catch (const std::exception&) {
  return false;
}

namespace {

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
