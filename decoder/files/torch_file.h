#pragma once

#include <string>

#include "decoder/files/array.h"

namespace headroom {

/// Reads a tensor that torch.save() wrote (.pt, .pth) as fp32: float16, bfloat16, float32 or float64, with
/// any strides. Its pickle is read as data (decoder/files/pickle.h): nothing of it is imported or called. An
/// empty `key` asks for the tensor that was saved alone, or the only one of a dict, list or tuple; otherwise
/// it is a key of a dict, or an index. Memory is bounded by the bytes in the file, whatever they claim.
/// Throws InputError, one line naming the file and what was expected.
Array read_torch_file(const std::string& path, const std::string& key);

}  // namespace headroom
