#include "decoder/base/os/partial_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include "decoder/base/errors.h"
#include "decoder/base/os/inside_folder.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/partial_file.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {

PartialFolder::PartialFolder(const std::filesystem::path& folder)
    : name_(folder.has_filename() ? folder : folder.parent_path()), target_(name_) {
  std::error_code error;
  if (is_folder_at(name_)) {
    const bool empty = std::filesystem::is_empty(name_, error);
    if (error) fail(name_, error.value());
    if (!empty)
      throw InputError(name_.string() + ": expected a new or empty folder, found one with files in it");
    // rename() can replace an empty folder, but not a link to one. So rename to the link's target.
    if (!is_in_open_folder(name_)) target_ = std::filesystem::canonical(file_behind_links(name_), error);
    if (error) fail(name_, error.value());
  } else if (std::filesystem::exists(std::filesystem::symlink_status(name_, error))) {
    throw InputError(name_.string() + ": expected a new or empty folder, found a file");
  }
  partial_ = free_partial_name(target_);
  on_signal_.emplace(partial_);
  if (mkdir(partial_.c_str(), 0777) != 0) fail(name_, errno);
  descriptor_ = open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor_ >= 0) return;
  const int reason = errno;
  rmdir(partial_.c_str());
  fail(name_, reason);
}

PartialFolder::~PartialFolder() {
  if (!committed_) {
    remove_contents(descriptor_);
    remove_with_contents(partial_.c_str());
  }
  close(descriptor_);
}

void PartialFolder::fail(const std::filesystem::path& name, int error_number) const {
  throw DeviceError(name.string() + ": cannot be written: " + std::generic_category().message(error_number));
}

void PartialFolder::make_folder(const std::filesystem::path& inside) {
  if (mkdir((partial_ / inside).c_str(), 0777) != 0) fail(name_ / inside, errno);
}

void PartialFolder::commit() {
  if (std::rename(partial_.c_str(), target_.c_str()) != 0) fail(name_, errno);
  committed_ = true;
}

}  // namespace headroom
