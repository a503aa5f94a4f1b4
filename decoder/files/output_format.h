#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headroom {

/// File format of an output (see open_sink() in decoder/files/picture_sink.h).
enum class OutputFormat { png, jpeg, webp, y4m, frame_folder, npy, safetensors };

/// Chooses the format by the path's suffix. A path without one is a folder of frames. Throws InputError for
/// an unsupported suffix.
OutputFormat output_format(const std::filesystem::path& path);

/// True if the path's format has a quality setting. False also for unsupported suffixes.
bool has_quality(const std::filesystem::path& path);

/// File suffixes that can be written, each with its dot, for messages and help.
std::vector<std::string> output_suffixes();

}  // namespace headroom
