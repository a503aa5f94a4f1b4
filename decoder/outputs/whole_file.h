#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace headroom {

/// Writes an output (output_target.h) whole or not at all. Throws InputError where it cannot be one,
/// DeviceError where it cannot be written.
void write_file_whole(const std::filesystem::path& file, const std::string& text);
/// The same for what `write` puts into the stream bit by bit.
void write_file_whole(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

}  // namespace headroom
