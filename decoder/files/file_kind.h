#pragma once

#include <string>

#include "decoder/base/os/read_only_file.h"

namespace headroom {

/// Describes a file that is not a .safetensors file, and how to fix it. The text is half a sentence that
/// follows the file's name. The file's content decides, not its suffix. Empty if the kind is unknown.
std::string instead_of_safetensors(const ReadOnlyFile& file);

/// Shell command that converts a torch.save() file to .safetensors. It also handles tensors inside
/// {"state_dict": …}.
std::string conversion_command(const std::string& file, const std::string& made);

}  // namespace headroom
