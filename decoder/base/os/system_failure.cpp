#include "decoder/base/os/system_failure.h"

#include <dirent.h>
#include <sys/stat.h>
#include <cerrno>
#include <memory>
#include <system_error>

#include "decoder/base/errors.h"

namespace headroom {

bool is_system_failure(int error_number) {
  return error_number == ENOSPC || error_number == EDQUOT || error_number == EMFILE ||
         error_number == ENFILE || error_number == ENOMEM || error_number == EIO;
}

std::string last_failure() {
  return std::generic_category().message(errno);
}

void fail_by_errno(const std::string& what, int error_number) {
  const std::string message = what + ": " + std::generic_category().message(error_number);
  if (is_system_failure(error_number)) throw DeviceError(message);
  throw InputError(message);
}

std::filesystem::file_status status_at(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (error && is_system_failure(error.value())) fail_by_errno(path.string(), error.value());
  return status;
}

bool is_file_at(const std::filesystem::path& path) {
  return std::filesystem::is_regular_file(status_at(path));
}

bool is_empty_at(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::file_size(path, error) == 0;
}

bool is_folder_at(const std::filesystem::path& path) {
  return std::filesystem::is_directory(status_at(path));
}

bool is_there(const std::filesystem::path& path) {
  return std::filesystem::exists(status_at(path));
}

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
