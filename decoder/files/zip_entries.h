#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/files/read_only_file.h"

namespace headroom {

/// A file inside a zip archive, stored as it is.
struct ZipEntry {
  std::string name;
  int64_t begin = 0;  ///< its bytes in the archive
  int64_t bytes = 0;
};

/// The entries of a zip archive in the order of its central directory, with the sizes of zip64 where it has
/// them. Nothing that the directory says is believed before it has been held against the archive's bytes: all
/// entries lie inside it and in front of the directory. Throws InputError, one line: no archive, a damaged
/// one, several disks, or an entry that is compressed or encrypted, which torch.save() writes none of.
std::vector<ZipEntry> read_zip_entries(const ReadOnlyFile& file);

}  // namespace headroom
