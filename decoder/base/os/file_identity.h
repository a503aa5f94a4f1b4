#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

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
