#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "decoder/outputs/left_behind.h"
#include "decoder/outputs/output_target.h"
#include "decoder/outputs/written_file.h"

namespace headroom {

/// A file that appears under its name whole or not at all: it is written as `<name>.partial-<place>-<pid>`
/// beside it and renamed by commit(). Destroyed before that, or ended by a signal (left_behind.h), it leaves
/// nothing; what a killed program left of the same file is removed. A link stays one: the file that it leads
/// to is replaced. A stream (output_target.h) is written through: what is to go there waits in a file without
/// a name until commit().
class PartialFile {
 public:
  /// Throws InputError where the folder does not exist or `file` can be no output, DeviceError where no file
  /// can be made in it.
  explicit PartialFile(const std::filesystem::path& file);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  WrittenFile& contents() { return *contents_; }
  /// As those of WrittenFile.
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

/// The name beside `path` under which it is written until it is whole, free of what earlier programs left.
/// Throws InputError where the folder does not exist.
std::filesystem::path free_partial_name(const std::filesystem::path& path);

}  // namespace headroom
