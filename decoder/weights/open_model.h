#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "decoder/graph/model.h"
#include "decoder/weights/parameter_source.h"

namespace headroom {

/// Opens the model of a program's --model option: an argument of resolve_model(), or a checkpoint. A
/// checkpoint is a .safetensors file of any name with tensor names that TensorNames knows. It may hold a
/// whole pipeline. Its config is the config.json beside it if that is a decoder's, else that of the built-in
/// model with the same tensors. Throws InputError if no built-in model has these tensors, or if several have
/// and nothing else in the file tells them apart. Their configs differ in ways that no tensor shape shows.
Model open_model(const std::string& argument);

/// Finds the model that a plan or queue file calls `name`, and returns its argument for open_model(). `name`
/// is a built-in name or the path of a folder or checkpoint. Paths are relative to the working directory,
/// else to the folder of `file`, else to the folders above that. Throws ModelOfPlan if there is no such
/// model.
std::string find_model(const std::string& name, const std::filesystem::path& file);

/// Opens a program's weights: from a seed if given, else from the folder `weights`, else from the model's own
/// folder. Throws InputError if there is none of these, and what WeightFiles throws.
ParameterSource open_weights(const std::string& model, const std::string& weights,
                             std::optional<uint64_t> random_seed);

}  // namespace headroom
