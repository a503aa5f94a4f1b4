#pragma once

#include <filesystem>

namespace headroom {

/// Sequential write and read rates of a file in a folder.
struct FolderRates {
  double write_bytes_per_second = 0;
  double read_bytes_per_second = 0;
};

/// Writes and reads a file of 512 MiB, or half of the free space if that is less. Bypasses the page cache if
/// the file system allows it. The file is unlinked while it is open. Throws InputError if the folder cannot
/// hold a file, and DeviceError if writing or reading fails.
FolderRates measure_folder(const std::filesystem::path& folder);

}  // namespace headroom
