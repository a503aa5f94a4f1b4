#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decoder/base/os/open_file.h"

namespace headroom {

/// An uncompressed file inside a zip archive.
struct ZipEntry {
  std::string name;
  int64_t begin = 0;  ///< offset of its data in the archive
  int64_t bytes = 0;
};

/// Reads the entries of a zip or zip64 archive, in the order of its central directory. All offsets and sizes
/// are checked: every entry must lie inside the file and before the directory. Throws InputError, one line,
/// if the archive is missing, damaged or split over several disks. It also rejects compressed and encrypted
/// entries, which torch.save() never writes.
std::vector<ZipEntry> read_zip_entries(const ReadOnlyFile& file);

}  // namespace headroom
