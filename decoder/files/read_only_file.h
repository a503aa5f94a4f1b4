#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "decoder/files/stored_dtype.h"

namespace headroom {

/// A regular file, open for reading at any offset and from several threads.
///
/// It is read, not mapped: a mapping of 99 MB, every range handed back (MADV_DONTNEED) after its copy, still
/// grew the process by 43 MiB on Linux 6.18, presumably because one fault maps a whole large folio of page
/// cache, parts already handed back included. And a file that someone shortens meanwhile is an error here,
/// where a mapping would end the process.
class ReadOnlyFile {
 public:
  /// Throws InputError where there is no such regular file or it cannot be opened.
  explicit ReadOnlyFile(const std::filesystem::path& file);
  ~ReadOnlyFile();
  ReadOnlyFile(const ReadOnlyFile&) = delete;
  ReadOnlyFile& operator=(const ReadOnlyFile&) = delete;

  const std::string& origin() const { return origin_; }  ///< the path, for messages
  int64_t bytes() const { return bytes_; }

  /// Throws DeviceError where the bytes cannot all be read.
  void read_at(int64_t offset, void* out, int64_t bytes) const;
  /// Reads `count` elements from `offset` on and converts them to fp32, through 256 KiB at a time.
  void read_as_float(int64_t offset, StoredDtype dtype, int64_t count, float* out) const;

 private:
  std::string origin_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace headroom
