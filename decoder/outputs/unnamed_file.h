#pragma once

#include <filesystem>

namespace headroom {

/// Opens a new file in `folder` that has no name, so that it goes with its descriptor however the program
/// ends. For reading and writing. Returns -1 with errno where none can be made.
int open_unnamed_file(const std::filesystem::path& folder) noexcept;

/// The same on the disk of an output, which has room for a picture; for a stream in
/// folder_for_unnamed_files().
int open_unnamed_beside(const std::filesystem::path& output) noexcept;

/// Where programs keep what is too large for memory: TMPDIR, or else /var/tmp, which is on a disk where /tmp
/// may be in memory.
std::filesystem::path folder_for_unnamed_files();

/// The folder that TMPDIR names, or else /tmp. Throws InputError where it is not there.
std::filesystem::path folder_for_temporary_files();

}  // namespace headroom
