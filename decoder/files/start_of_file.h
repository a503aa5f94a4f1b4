#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace headroom {

/// The first bytes of a regular file, as many of them as it has; nothing where there is none that can be
/// opened and read. A file whose size is 0 has none, also where reading it would fail, as with some of /proc.
std::optional<std::string> start_of_file(const std::filesystem::path& file, int64_t most_bytes);

}  // namespace headroom
