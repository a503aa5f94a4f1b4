#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "decoder/base/os/left_behind.h"
#include "decoder/base/os/open_file.h"
#include "decoder/base/os/output_target.h"

namespace headroom {

/// An output file or folder that appears complete or not at all. It is written as
/// `<name>.partial-<place>-<pid>` in the same folder. commit() renames it. Without commit(), the destructor
/// or a signal (left_behind.h) removes it. Leftovers of killed programs for the same name are removed too. If
/// the name is a link, the link stays and its target is replaced. For a stream (output_target.h), the data
/// waits in an unnamed file until commit() copies it.
class PartialFile {
 public:
  enum class Kind { file, folder };

  /// Throws InputError if its folder does not exist, if `name` cannot be an output, or if a folder's name is
  /// taken by a file or a folder that is not empty. Throws DeviceError if it cannot be created.
  explicit PartialFile(const std::filesystem::path& name, Kind kind = Kind::file);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  /// Final name.
  const std::filesystem::path& name() const { return name_; }
  /// Path until commit(); empty for a stream.
  const std::filesystem::path& partial() const { return partial_; }
  /// Creates a folder inside the partial folder. It may hold only files, because removal goes no deeper.
  /// Throws DeviceError.
  void make_folder(const std::filesystem::path& inside);

  /// Contents of a file.
  WrittenFile& contents() { return *contents_; }
  /// Like the functions of WrittenFile.
  void reserve(int64_t bytes) { contents_->reserve(bytes); }
  void write_at(int64_t offset, const void* data, int64_t bytes) { contents_->write_at(offset, data, bytes); }
  /// Throws DeviceError.
  void commit();

 private:
  void open_folder();
  void write_through() const;

  const std::filesystem::path name_;
  const OutputTarget target_;
  std::filesystem::path partial_;
  std::optional<RemovedOnSignal> on_signal_;
  std::optional<WrittenFile> contents_;
  std::optional<Descriptor> folder_;  ///< of the partial folder; opened early, in case descriptors run out
  bool committed_ = false;
};

}  // namespace headroom
