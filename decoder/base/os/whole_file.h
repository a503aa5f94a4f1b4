#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
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

/// The text of a small system file (/proc, /sys, control groups). Returns nothing if the file is missing or
/// not readable. Throws DeviceError on a system failure, since callers would take "nothing" for "no limit".
std::optional<std::string> text_of_system_file(const std::filesystem::path& file);

}  // namespace headroom
