#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace headroom {

/// The text of a small file by which the system tells of itself (/proc, /sys, control groups); nothing where
/// there is none, or it is not for us to read. Throws DeviceError where the system fails: what it would have
/// said is not known then, and "nothing" would be taken for "no limit".
std::optional<std::string> text_of_system_file(const std::filesystem::path& file);

}  // namespace headroom
