#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace headroom {

/// The text of a small system file (/proc, /sys, control groups). Returns nothing if the file is missing or
/// not readable. Throws DeviceError on a system failure, since callers would take "nothing" for "no limit".
std::optional<std::string> text_of_system_file(const std::filesystem::path& file);

}  // namespace headroom
