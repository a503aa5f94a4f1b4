#pragma once

#include <filesystem>

namespace headroom {

/// Makes a file that only this user can read and write, unless there is one. Throws ExchangeError where
/// another user could write the file or put another one in its place: nobody may join a decode by it.
void make_private_file(const std::filesystem::path& file);

}  // namespace headroom
