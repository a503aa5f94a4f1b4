#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>

namespace headroom {

/// A JSON text, read a part at a time, so that the whole of it never stands in memory. Throws InputError
/// where there is no such file or it is longer than `most_bytes`. Reading throws InputError in the
/// streambuf's functions where the file cannot be read or has a string of more than 1 MiB.
std::unique_ptr<std::istream> open_json_text(const std::filesystem::path& file, int64_t most_bytes);

}  // namespace headroom
