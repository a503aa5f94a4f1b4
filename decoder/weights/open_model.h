#pragma once

#include <string>

#include "decoder/graph/model.h"

namespace headroom {

/// The model of a program's --model: what resolve_model() takes, or a checkpoint, a .safetensors file of
/// whatever name with any of the tensor names that TensorNames knows, also inside a whole pipeline's
/// checkpoint. A checkpoint's config is the config.json beside it, where that is a decoder's, else the
/// built-in model's whose tensors it has. Throws InputError where several built-in models have such tensors
/// and nothing else in the file tells them apart, or none has: their configs differ in what no shape shows.
Model open_model(const std::string& argument);

}  // namespace headroom
