#include "decoder/base/os/file_identity.h"

#include <dirent.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "decoder/base/os/system_failure.h"

namespace headroom {

std::optional<FileIdentity> identity_at(const std::filesystem::path& path,
                                        const std::filesystem::path& name) {
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) return FileIdentity{status.st_dev, status.st_ino};
  if (is_system_failure(errno)) fail_by_errno(name.string(), errno);
  return std::nullopt;
}

std::vector<std::string> names_in_folder(const std::filesystem::path& folder) {
  // libstdc++'s directory_iterator ends the program if it runs out of memory.
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(folder.c_str()), closedir);
  if (!open && is_system_failure(errno)) fail_by_errno(folder.string(), errno);
  std::vector<std::string> names;
  if (!open) return names;
  while (const dirent* entry = readdir(open.get())) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace headroom
