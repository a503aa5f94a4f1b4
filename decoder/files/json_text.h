#pragma once

#include <cstdint>
#include <filesystem>
#include <istream>
#include <memory>
#include <string>

namespace headroom {

/// Opens a JSON file as a stream, so that the whole text is never in memory. Throws InputError if the file
/// is missing or longer than `most_bytes`. Reading throws InputError for a string longer than 1 MiB, and
/// DeviceError if the file cannot be read.
std::unique_ptr<std::istream> open_json_text(const std::filesystem::path& file, int64_t most_bytes);

/// Wraps a stream of JSON text. JSON parsers hold each token whole in memory, so this limits tokens to 1
/// MiB. The streambuf throws InputError for a longer string, or for more than 1 MiB between two strings or
/// numbers.
std::unique_ptr<std::istream> with_short_tokens(std::unique_ptr<std::istream> text,
                                                const std::string& origin);

}  // namespace headroom
