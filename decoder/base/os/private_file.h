#pragma once

#include <filesystem>

namespace headroom {

/// Creates a file that only this user can read and write, unless it exists. Throws DeviceError if another
/// user could write or replace it, because such a user could join the decode.
void make_private_file(const std::filesystem::path& file);

}  // namespace headroom
