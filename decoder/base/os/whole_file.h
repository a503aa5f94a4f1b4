#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace headroom {

/// Reads a whole file of at most `most_bytes`. Throws InputError naming the file.
std::string read_text_file(const std::filesystem::path& file, int64_t most_bytes);

/// Writes an output (output_target.h) whole or not at all. Throws InputError if `file` cannot be an output,
/// and DeviceError if writing fails.
void write_file_whole(const std::filesystem::path& file, const std::string& text);
/// Like the overload above, for text that `write` streams out piece by piece.
void write_file_whole(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

}  // namespace headroom
