#include "decoder/base/os/unnamed_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>

#include "decoder/base/errors.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {

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
