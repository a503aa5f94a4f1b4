#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>

namespace headroom {

/// Opens a JSON file as a stream, so that the whole text is never in memory. Throws InputError if the file
/// is missing or longer than `most_bytes`. Reading throws InputError for a string longer than 1 MiB, and
/// DeviceError if the file cannot be read.
std::unique_ptr<std::istream> open_json_text(const std::filesystem::path& file, int64_t most_bytes);

}  // namespace headroom
