#pragma once

#include <string>

#include "decoder/files/array.h"

namespace headroom {

/// Reads a tensor from a torch.save() file (.pt, .pth) as fp32. Supported are float16, bfloat16, float32 and
/// float64 with any strides. The pickle is parsed as data (decoder/files/pickle.h): no import, no call.
/// `key` is a key of a dict, or an index. An empty `key` selects the only tensor of the file, dict, list or
/// tuple. The file's size bounds the memory. Throws InputError, one line naming the file and what was
/// expected.
Array read_torch_file(const std::string& path, const std::string& key);

}  // namespace headroom
