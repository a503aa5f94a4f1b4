#include "decoder/base/os/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "decoder/base/errors.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/system_failure.h"

namespace headroom {

namespace {

using std::filesystem::path;

/// Path of a new or empty folder. rename() can replace an empty folder, but not a link to one. So the path is
/// the link's target.
path folder_behind_links(const path& name) {
  std::error_code error;
  if (is_folder_at(name)) {
    const bool empty = std::filesystem::is_empty(name, error);
    if (error) fail_to_write(name, error.value());
    if (!empty)
      throw InputError(name.string() + ": expected a new or empty folder, found one with files in it");
    if (is_in_open_folder(name)) return name;
    path target = std::filesystem::canonical(file_behind_links(name), error);
    if (error) fail_to_write(name, error.value());
    return target;
  }
  if (std::filesystem::exists(std::filesystem::symlink_status(name, error)))
    throw InputError(name.string() + ": expected a new or empty folder, found a file");
  return name;
}

OutputTarget target_of(const path& name, PartialFile::Kind kind) {
  if (kind == PartialFile::Kind::file) return output_target(name);
  return {folder_behind_links(name), false, -1};
}

/// Returns the partial file's name for `target`, after removing leftovers of earlier programs.
path free_partial_name(const path& target) {
  const path folder = target.has_parent_path() ? target.parent_path() : ".";
  if (!is_folder_at(folder))
    throw InputError(target.string() + ": expected an existing folder, " + folder.string() + " is none");
  remove_left_behind(target, "partial");
  return target.string() + ".partial-" + process_mark();
}

}  // namespace

PartialFile::PartialFile(const path& name, Kind kind)
    : name_(kind == Kind::file || name.has_filename() ? name : name.parent_path()),
      target_(target_of(name_, kind)) {
  if (target_.is_stream) {
    contents_.emplace(open_unnamed_file(folder_for_unnamed_files()), name_);
    return;
  }
  partial_ = free_partial_name(target_.path);
  on_signal_.emplace(partial_);
  if (kind == Kind::folder) {
    open_folder();
  } else {
    contents_.emplace(partial_, name_);
  }
}

void PartialFile::open_folder() {
  if (mkdir(partial_.c_str(), 0777) != 0) fail_to_write(name_, errno);
  folder_.emplace(open(partial_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder_->number() >= 0) return;
  const int reason = errno;
  rmdir(partial_.c_str());
  fail_to_write(name_, reason);
}

PartialFile::~PartialFile() {
  if (committed_ || partial_.empty()) return;
  if (folder_) remove_contents(folder_->number());
  remove_with_contents(partial_.c_str());
}

void PartialFile::make_folder(const path& inside) {
  if (mkdir((partial_ / inside).c_str(), 0777) != 0) fail_to_write(name_ / inside, errno);
}

void PartialFile::write_through() const {
  // For a named pipe, open() blocks until a reader opens it. O_NOFOLLOW and the check below guard against a
  // link or a regular file that has replaced the stream meanwhile.
  Descriptor stream(target_.descriptor >= 0
                        ? fcntl(target_.descriptor, F_DUPFD_CLOEXEC, 3)
                        : open(target_.path.c_str(), O_WRONLY | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC));
  if (stream.number() < 0) contents_->fail(errno);
  struct stat status {};
  if (target_.descriptor < 0 && fstat(stream.number(), &status) == 0 && S_ISREG(status.st_mode))
    contents_->fail(EEXIST);
  contents_->copy_to(stream.number());
  if (close(stream.release()) != 0) contents_->fail(errno);
}

void PartialFile::commit() {
  if (target_.is_stream) write_through();
  if (contents_) contents_->close();
  if (!target_.is_stream && std::rename(partial_.c_str(), target_.path.c_str()) != 0)
    fail_to_write(name_, errno);
  committed_ = true;
}

}  // namespace headroom
