#pragma once

#include <filesystem>
#include <string>

namespace headroom {

/// Whether a call of the system that left this errno failed by the system's fault (no memory, descriptors or
/// room left, a broken disk), and not because of what it was asked for.
bool is_system_failure(int error_number);

/// Throws DeviceError where is_system_failure(), InputError otherwise: "<what>: <the system's words>".
[[noreturn]] void fail_by_errno(const std::string& what, int error_number);

/// What stands at a path, behind links; of type not_found or none where nothing does that can be reached.
/// Throws DeviceError where the system fails to say: whether a file is there is not known then.
std::filesystem::file_status status_at(const std::filesystem::path& path);

bool is_file_at(const std::filesystem::path& path);    ///< a regular one, by status_at()
bool is_empty_at(const std::filesystem::path& path);   ///< a file without bytes: so /proc shows its own
bool is_folder_at(const std::filesystem::path& path);  ///< by status_at()
bool is_there(const std::filesystem::path& path);      ///< whatever it is, by status_at()

}  // namespace headroom
