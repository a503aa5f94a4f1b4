#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace headroom {

/// What is written for an output (decoder/files/picture_sink.h).
enum class OutputFormat { png, jpeg, webp, y4m, frame_folder, npy, safetensors };

/// By the path's suffix; without one it is a folder of frames. Throws InputError where nothing of that suffix
/// is written.
OutputFormat output_format(const std::filesystem::path& path);

/// Whether what is written depends on a quality; false as well of what is not written at all.
bool has_quality(const std::filesystem::path& path);

/// Every suffix of a file that is written, with its dot, as it is offered to people.
std::vector<std::string> output_suffixes();

}  // namespace headroom
