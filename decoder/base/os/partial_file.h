#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "decoder/base/os/left_behind.h"
#include "decoder/base/os/output_target.h"
#include "decoder/base/os/written_file.h"

namespace headroom {

/// An output file that appears complete or not at all. It is written as `<name>.partial-<place>-<pid>` in
/// the same folder. commit() renames it. Without commit(), the destructor or a signal (left_behind.h)
/// removes it. Leftovers of killed programs for the same file are removed too. If the name is a link, the
/// link stays and its target is replaced. For a stream (output_target.h), the data waits in an unnamed file
/// until commit() copies it.
class PartialFile {
 public:
  /// Throws InputError if the folder does not exist or `file` cannot be an output, DeviceError if the file
  /// cannot be created.
  explicit PartialFile(const std::filesystem::path& file);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  WrittenFile& contents() { return *contents_; }
  /// Like the functions of WrittenFile.
  void reserve(int64_t bytes) { contents_->reserve(bytes); }
  void write_at(int64_t offset, const void* data, int64_t bytes) { contents_->write_at(offset, data, bytes); }
  /// Throws DeviceError.
  void commit();

 private:
  void write_through() const;
  OutputTarget target_;
  std::filesystem::path partial_;  ///< empty for a stream
  std::optional<RemovedOnSignal> on_signal_;
  std::optional<WrittenFile> contents_;
  bool committed_ = false;
};

/// Returns the partial file's name for `path`, after removing leftovers of earlier programs. Throws
/// InputError if the folder does not exist.
std::filesystem::path free_partial_name(const std::filesystem::path& path);

}  // namespace headroom
