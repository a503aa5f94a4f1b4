#pragma once

#include <string>

#include "decoder/files/array.h"

namespace headroom {

/// Reads a latent, N×C×H×W or N×C×T×H×W, as fp32. `argument` is one of
///   name.npy               '<f2', '<f4' or '<f8', C order
///   name.safetensors       the first tensor of its header; F32, F16 or BF16
///   name.safetensors:key   the tensor `key`
/// Nothing is allocated before the file's own size has been held against what its header promises.
/// Throws InputError, one line naming the file and what was expected: a missing or truncated file, another
/// suffix, dtype or rank, an extent of 0, more than 2^30 elements, a value that is not finite in fp32.
Array read_latent(const std::string& argument);

}  // namespace headroom
