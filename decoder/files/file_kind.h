#pragma once

#include <string>

#include "decoder/files/read_only_file.h"

namespace headroom {

/// The kind of a file that should be a .safetensors file and is none, and what to do about it: half a
/// sentence that follows its name. The content decides, whatever the name is. Empty where the kind is not
/// known here.
std::string instead_of_safetensors(const ReadOnlyFile& file);

/// The shell command that makes a .safetensors file of what torch.save() wrote, also where the tensors lie in
/// {"state_dict": …}.
std::string conversion_command(const std::string& file, const std::string& made);

}  // namespace headroom
