#include "decoder/files/partial_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "decoder/graph/errors.h"

namespace headroom {

std::filesystem::path free_partial_name(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (!std::filesystem::is_directory(folder, error)) {
    throw InputError(path.string() + ": expected an existing folder, " + folder.string() + " is none");
  }
  std::filesystem::path partial = path;
  partial += ".partial-" + std::to_string(getpid());
  remove_with_contents(partial.c_str());
  remove_left_behind(path, "partial");
  return partial;
}

PartialFile::PartialFile(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code error;
  if (std::filesystem::is_directory(file_, error))
    throw InputError(file_.string() + ": expected a file, found a folder");
  partial_ = free_partial_name(file_);
  on_signal_.emplace(partial_);
  contents_.emplace(partial_, file_);
}

PartialFile::~PartialFile() {
  if (!committed_) unlink(partial_.c_str());
}

void PartialFile::commit() {
  contents_->close();
  if (std::rename(partial_.c_str(), file_.c_str()) != 0) contents_->fail(errno);
  committed_ = true;
}

}  // namespace headroom
