#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "decoder/base/os/descriptor.h"

namespace headroom {

/// A regular file for reading at any offset, from several threads.
///
/// It uses pread(), not mmap(), for two reasons. Pages mapped while copying 99 MB grew the process by 43 MiB
/// on Linux 6.18, even with MADV_DONTNEED after each copy. One fault probably maps a whole large folio of
/// the page cache again. And if another program shortens the file, pread() reports an error, but a mapping
/// would end the process.
class ReadOnlyFile {
 public:
  /// Throws InputError if it is not a regular file or cannot be opened.
  explicit ReadOnlyFile(const std::filesystem::path& file);

  const std::string& origin() const { return origin_; }  ///< the path, for messages
  int64_t bytes() const { return bytes_; }

  /// Throws DeviceError if not all bytes can be read.
  void read_at(int64_t offset, void* out, int64_t bytes) const;

 private:
  std::string origin_;
  const Descriptor descriptor_;
  int64_t bytes_ = 0;
};

}  // namespace headroom
