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
#include "decoder/base/os/descriptor.h"
#include "decoder/base/os/system_failure.h"
#include "decoder/base/os/unnamed_file.h"

namespace headroom {

std::filesystem::path free_partial_name(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!is_folder_at(folder)) {
    throw InputError(path.string() + ": expected an existing folder, " + folder.string() + " is none");
  }
  std::filesystem::path partial = path;
  partial += ".partial-" + process_mark();
  remove_left_behind(path, "partial");
  return partial;
}

PartialFile::PartialFile(const std::filesystem::path& file) : target_(output_target(file)) {
  if (target_.is_stream) {
    contents_.emplace(open_unnamed_file(folder_for_unnamed_files()), file);
    return;
  }
  partial_ = free_partial_name(target_.path);
  on_signal_.emplace(partial_);
  contents_.emplace(partial_, file);
}

PartialFile::~PartialFile() {
  if (!committed_ && !partial_.empty()) unlink(partial_.c_str());
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
  contents_->close();
  if (!target_.is_stream && std::rename(partial_.c_str(), target_.path.c_str()) != 0) contents_->fail(errno);
  committed_ = true;
}

}  // namespace headroom
