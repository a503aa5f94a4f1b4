#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "decoder/base/os/open_file.h"

namespace headroom {

/// Describes a file that is not a .safetensors file, and how to fix it. The text is half a sentence that
/// follows the file's name. The file's content decides, not its suffix. Empty if the kind is unknown.
std::string instead_of_safetensors(const ReadOnlyFile& file);

/// Shell command that converts a torch.save() file to .safetensors. It also handles tensors inside
/// {"state_dict": …}.
std::string conversion_command(const std::string& file, const std::string& made);

/// Reads the first bytes of a regular file, at most `most_bytes`. Returns nullopt if it cannot be opened or
/// read. Files with size 0 give an empty text, even if reading would fail, as for some in /proc.
std::optional<std::string> start_of_file(const std::filesystem::path& file, int64_t most_bytes);

}  // namespace headroom
