#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace headroom {

/// Reads the first bytes of a regular file, at most `most_bytes`. Returns nullopt if it cannot be opened or
/// read. Files with size 0 give an empty text, even if reading would fail, as for some in /proc.
std::optional<std::string> start_of_file(const std::filesystem::path& file, int64_t most_bytes);

}  // namespace headroom
