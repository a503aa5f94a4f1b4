#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

/// True if this errno is a fault of the system: no memory, descriptors or disk space left, or a broken disk.
/// Other values are faults of the request.
bool is_system_failure(int error_number);

/// The system's description of this thread's last failed call (errno).
std::string last_failure();

/// Throws DeviceError if is_system_failure(), otherwise InputError. The message is `what` and the system's
/// description of the error.
[[noreturn]] void fail_by_errno(const std::string& what, int error_number);

/// Status of the file at a path, after following links. Its type is not_found or none if no file can be
/// reached. Throws DeviceError on a system failure, since the file may exist then.
std::filesystem::file_status status_at(const std::filesystem::path& path);

bool is_file_at(const std::filesystem::path& path);    ///< a regular one, by status_at()
bool is_empty_at(const std::filesystem::path& path);   ///< a file of size 0, as in /proc
bool is_folder_at(const std::filesystem::path& path);  ///< by status_at()
bool is_there(const std::filesystem::path& path);      ///< any type of file, by status_at()

/// Identity of a file, equal for all its names.
struct FileIdentity {
  uint64_t device = 0, inode = 0;

  auto operator<=>(const FileIdentity&) const = default;
};

/// Follows links. Nothing if no file can be reached at `path`. Throws DeviceError on a system failure, with
/// `name` in the message.
std::optional<FileIdentity> identity_at(const std::filesystem::path& path, const std::filesystem::path& name);

/// Names in a folder, in no order. Empty if it cannot be opened. Throws DeviceError on a system failure.
std::vector<std::string> names_in_folder(const std::filesystem::path& folder);

}  // namespace headroom
