#pragma once

#include <string>

#include "decoder/graph/model.h"

namespace headroom {

/// Opens the model of a program's --model option: an argument of resolve_model(), or a checkpoint. A
/// checkpoint is a .safetensors file of any name with tensor names that TensorNames knows. It may hold a
/// whole pipeline. Its config is the config.json beside it if that is a decoder's, else that of the built-in
/// model with the same tensors. Throws InputError if no built-in model has these tensors, or if several have
/// and nothing else in the file tells them apart. Their configs differ in ways that no tensor shape shows.
Model open_model(const std::string& argument);

}  // namespace headroom
