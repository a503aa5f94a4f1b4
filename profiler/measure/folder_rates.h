#pragma once

#include <filesystem>

namespace headroom::profiler {

/// How fast a file in a folder is written and read again, in order.
struct FolderRates {
  double write_bytes_per_second = 0;
  double read_bytes_per_second = 0;
};

/// Writes and reads a file of 512 MiB, past the page cache where the file system allows that; half of what is
/// free where that is less. The file has no name while it is there. Throws InputError where the folder cannot
/// take a file, DeviceError where writing or reading fails.
FolderRates measure_folder(const std::filesystem::path& folder);

}  // namespace headroom::profiler
