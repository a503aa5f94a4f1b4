#pragma once

#include <filesystem>

namespace headroom {

/// Opens a new file without a name in `folder`, for reading and writing. The kernel frees it with its
/// descriptor, however the program ends. Returns -1 and sets errno on failure.
int open_unnamed_file(const std::filesystem::path& folder) noexcept;

/// Like open_unnamed_file(), in the output's folder, because that disk needs room for the picture anyway.
/// For a stream, it uses folder_for_unnamed_files().
int open_unnamed_beside(const std::filesystem::path& output) noexcept;

/// Folder for data too large for memory: TMPDIR, else /var/tmp, else /tmp. /tmp comes last because it may be
/// in memory.
std::filesystem::path folder_for_unnamed_files();

/// Returns the folder in TMPDIR, or /tmp. Throws InputError if it does not exist.
std::filesystem::path folder_for_temporary_files();

}  // namespace headroom
